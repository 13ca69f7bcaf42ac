"""Generator of the table of common names that say nothing about a project.

    python benchmarks/common_names.py REPOSITORY… > src/hunchd/patterns/common_names.json

A name is common when at least a quarter of the repositories of its language, and at least three (two where there are
four or fewer), use it in two files or more. What the given repositories cannot show (one of a language is too few) is
listed by hand in `BY_HAND`.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path

from hunchd.patterns.features import strip_usage
from hunchd.patterns.shapes import extract_shapes
from hunchd.repository.git import Git

SHARE, LEAST_REPOSITORIES, LEAST_FILES, LEAST_LANGUAGE_FILES = 0.25, 3, 2, 20
FAMILIES = {"typescript": "javascript", "tsx": "javascript"}

BY_HAND = {
    "java": """
    Override Test Before After BeforeEach AfterEach Ignore Deprecated SuppressWarnings SafeVarargs FunctionalInterface
    Nullable NonNull Object String Integer Long Double Float Boolean Character Byte Short Number Void Class Enum Math
    System Thread Runnable Callable Iterable Iterator Comparable Comparator Collection List ArrayList LinkedList Map
    HashMap LinkedHashMap TreeMap Set HashSet LinkedHashSet TreeSet Queue Deque ArrayDeque Arrays Collections Objects
    Optional Stream Collectors StringBuilder StringBuffer Exception RuntimeException Error Throwable IOException
    IllegalArgumentException IllegalStateException NullPointerException UnsupportedOperationException
    IndexOutOfBoundsException NumberFormatException AssertionError ClassNotFoundException InterruptedException
    NoSuchElementException EOFException CharSequence Serializable Cloneable AutoCloseable Closeable InputStream
    OutputStream Reader Writer StringReader StringWriter File Path Paths Files URL URI UUID Date Calendar Locale
    BigDecimal BigInteger Random Pattern Matcher Type Method Field Constructor ParameterizedType Annotation
    AtomicInteger AtomicLong AtomicReference ConcurrentHashMap ExecutorService Executors TimeUnit Logger
    get set is has add put remove clear size length isEmpty contains containsKey containsValue indexOf equals hashCode
    toString valueOf parse format append insert delete replace substring split trim toLowerCase toUpperCase charAt
    startsWith endsWith matches join concat compareTo compare iterator next hasNext keySet values entrySet getKey
    getValue entry of copyOf asList toArray sort stream map filter collect forEach reduce findFirst orElse of ofNullable
    getClass getName getSimpleName getType getMessage getCause initCause printStackTrace getInstance newInstance
    create build builder main run call apply accept test close flush read write readLine println print printf exit
    assertEquals assertTrue assertFalse assertNull assertNotNull assertSame assertThat assertThrows isEqualTo isTrue
    isFalse isNull isNotNull isInstanceOf isSameInstanceAs hasMessageThat hasSize fail assertArrayEquals setUp tearDown
    requireNonNull addAll putAll removeAll getOrDefault isInstance cast intValue longValue doubleValue isAssignableFrom
    getGenericSuperclass getDeclaredFields parseInt parseLong parseDouble invoke setAccessible hash name ordinal in out
    e ex obj o value key index i n s t id data type args string expected actual result
    """,
    "go": "Name String Error Len Less Swap Read Write Close Reset Get Set Add Run New init main t b w r err ok ctx",
    "rust": "new from into default clone fmt eq ne cmp partial_cmp hash drop deref deref_mut index len is_empty iter",
    "python": "self cls args kwargs __init__ __repr__ __str__ __eq__ __hash__ __enter__ __exit__ __call__ __iter__",
    "javascript": "expect toBe toEqual describe it test beforeEach afterEach resolve reject then catch push map filter",
}


def main() -> None:
    repositories: dict[str, Counter[str]] = defaultdict(Counter)  # language → name → repositories
    name_counts: Counter[str] = Counter()
    for git_dir in sys.argv[1:]:
        for language, names in find_used_names(Path(git_dir)).items():
            name_counts[language] += 1
            repositories[language].update(names)
    table = {}
    for language in sorted(name_counts.keys() | BY_HAND.keys()):
        needed = max(LEAST_REPOSITORIES - (name_counts[language] < 5), SHARE * name_counts[language])
        common = {name for name, count in repositories[language].items() if count >= needed}
        table[language] = " ".join(sorted(common | set(BY_HAND.get(language, "").split())))
    json.dump(table, sys.stdout, indent=0, ensure_ascii=True)
    print()
    print({language: (name_counts[language], len(names.split())) for language, names in table.items()}, file=sys.stderr)


def find_used_names(git_dir: Path) -> dict[str, set[str]]:
    """Return the names by language that at least two files of a repository use."""
    git = Git(git_dir)
    listed = git.run("ls-tree", "-r", "-z", "HEAD").decode("utf-8", "replace").split("\0")
    paths = {line.split("\t")[0].split()[2]: line.split("\t", 1)[1] for line in listed if " blob " in line}
    files: dict[str, Counter[str]] = defaultdict(Counter)
    count: Counter[str] = Counter()
    wanted = [blob for blob, path in paths.items() if path.rpartition(".")[2] in ENDINGS]
    for blob, source in git.read_blobs(wanted):
        shapes = extract_shapes(paths[blob], source)
        if shapes:
            language = FAMILIES.get(shapes[0].language, shapes[0].language)
            count[language] += 1
            files[language].update({strip_usage(feature) for shape in shapes for feature in shape.features})
    return {
        language: {name for name, times in names.items() if times >= LEAST_FILES and len(name) > 1}
        for language, names in files.items()
        if count[language] >= LEAST_LANGUAGE_FILES
    }


ENDINGS = frozenset({"py", "go", "rs", "java", "ts", "js", "tsx", "jsx", "mjs", "mts", "cjs"})

if __name__ == "__main__":
    main()
