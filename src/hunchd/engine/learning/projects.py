"""Registry of open projects: lookup by path or id, adoption, indexing, removal."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

from hunchd.config.places import expanded, make_private
from hunchd.domain.errors import InvalidInput, NotFound
from hunchd.domain.facts import Change
from hunchd.domain.memory import Memory
from hunchd.engine.learning.indexing import Indexing
from hunchd.engine.state.feature import Feature, Features
from hunchd.engine.state.parts import Parts, Tasks
from hunchd.engine.state.project import Own, Project, Tree
from hunchd.repository import layout as layouts
from hunchd.repository.layout import Layout
from hunchd.store.registry import Project as ProjectRecord

ROOT_LOOK = 2.0  # seconds between two checks for a missing folder


class Projects(Feature):
    """Open projects by id and path."""

    def __init__(self, parts: Parts, indexing: Indexing, features: Features) -> None:
        self._parts = parts
        self._indexing = indexing
        self._features = features
        self.own = Own()
        self._projects: dict[str, Project] = {}
        self._by_path: dict[str, tuple[Project, Tree]] = {}  # lookup cache of paths
        self._caches = parts.places.cache / "projects"

    def __iter__(self) -> Iterator[Project]:
        return iter(self._projects.values())

    def __len__(self) -> int:
        return len(self._projects)

    @property
    def ids(self) -> list[str]:
        return list(self._projects)

    def start(self, tasks: Tasks) -> None:
        self.open_all()

    async def stop(self) -> None:
        """Save the models, so that the next start does not compute them again."""
        for project in self:
            if project.predictor is not None and not project.indexing:
                await asyncio.to_thread(self._indexing.remember, project)
            if project.code is not None:
                project.code.close()

    def on_memory_changed(self, change: Change, project: Project | None) -> None:
        """Show the change in the next bundle: of its project, or of all if it is the user's own."""
        if project is not None:
            project.notice(change)
        elif change.project is None:
            self.own.notice(change)
            for each in self:
                each.touch()

    def id_of(self, named: str) -> str:
        """Return the id of the project that an id or a path names. Raises NotFound."""
        return self.find(named)[0].id

    def roots(self) -> list[Path]:
        """Return the root folders of the projects that are not missing."""
        return [project.root for project in self._projects.values() if not project.missing]

    def open_all(self) -> None:
        """Open all registered projects with their saved models; delete orphaned caches."""
        records = self._parts.registry.all()
        known = {record.id for record in records}
        for cache in self._caches.iterdir() if self._caches.is_dir() else ():
            if cache.name not in known:
                self.clear_cache(cache.name)
        for record in records:
            self._adopt(record)

    def add(self, path: str, *, must_exist: bool = True, identifier: str | None = None) -> Project:
        """Register the project that contains `path` and return it.

        A new one gets `identifier`, if that is free. Raises InvalidInput if there is no such folder.
        """
        folder = expanded(path)
        if not folder.is_absolute():
            raise InvalidInput("'path' must be absolute", field="path")
        if must_exist and not layouts.is_folder(folder):
            raise InvalidInput(f"there is no folder {path}", field="path", hint="name a git working tree or a folder")
        layout = layouts.find(folder) or layouts.plain(folder.resolve())
        if layout.bare:
            raise InvalidInput(f"{path} is a bare repository; a working tree is needed", field="path")
        if must_exist:
            self._refuse_everything(layout)
            if not layouts.is_readable(layout.root):
                raise InvalidInput(f"{layout.root} cannot be read", field="path", hint="it needs read permission")
        record = self._parts.registry.add(layout.root, common_dir=layout.common_dir, identifier=identifier)
        if record.id in self._projects:
            project = self._projects[record.id]
            tree = self._tree(project, layout)
            if record.path == str(tree.root) != str(project.root):
                self._move(project, tree)
                project.name = record.name
            return project
        return self._adopt(record, layout)

    def _move(self, project: Project, tree: Tree) -> None:
        """Continue the project in another worktree of its repository.

        Its own folder was deleted or moved; it may have been a linked worktree.
        """
        self._features.on_project_closed(project)
        project.trees.pop(project.root, None)
        project.main = tree
        self._by_path = {path: found for path, found in self._by_path.items() if found[0] is not project}
        project.touch()
        self.index(project)
        self._features.on_project_opened(project)

    def _refuse_everything(self, layout: Layout) -> None:
        """Reject the file system root and the home folder, which would never finish indexing.

        A home folder that is a repository is accepted: its owner has said what of it counts.
        """
        root = layout.root
        what = "the root of the file system" if root == Path(root.anchor) else "your home folder"
        is_everything = root == Path(root.anchor) or (layout.git_dir is None and root == expanded("~").resolve())
        if is_everything and self._parts.registry.find(root, common_dir=layout.common_dir) is None:
            raise InvalidInput(f"{root} is {what}", field="path", hint="name a git working tree, or a folder inside it")

    def get(self, identifier: str) -> Project:
        """Return the project with this id. Raises NotFound."""
        try:
            return self._projects[identifier]
        except KeyError:
            raise NotFound(f"there is no project '{identifier}'", hint="GET /projects lists them") from None

    def standing(self, identifier: str | None) -> list[Memory]:
        """Return the facts and profile pages held of a project, or of the user for None.

        Unlike a cache they are complete, however many there are.
        """
        if identifier is None:
            return [*self.own.profile.values(), *self.own.facts.values()]
        project = self.known(identifier)
        return list(project.facts.values()) if project is not None else []

    def known(self, identifier: str | None) -> Project | None:
        """Return the project with this id, if it exists.

        None stands for the user's own memories.
        """
        return self._projects.get(identifier) if identifier is not None else None

    def find(self, named: str) -> tuple[Project, Tree]:
        """Return the project and tree that an id or a path names.

        Raises NotFound.
        """
        if found := self._by_path.get(named):
            return found
        if named in self._projects:
            project = self._projects[named]
            return project, project.main
        found = self._find(Path(named)) if Path(named).is_absolute() else None
        if found is None:
            raise NotFound(
                f"{named} does not belong to a known project",
                field="project",
                hint="POST /projects (`hunch add`) first",
            )
        if len(self._by_path) < 4_096:
            self._by_path[named] = found
        return found

    def _find(self, path: Path) -> tuple[Project, Tree] | None:
        layout = layouts.find(path)
        root = layout.root if layout is not None else path.resolve()
        for project in self._projects.values():
            if root in project.trees:
                return project, project.trees[root]
            if (
                layout is not None
                and layout.common_dir is not None
                and layout.common_dir == project.main.layout.common_dir
            ):
                return project, self._tree(project, layout)
        outer = [p for p in self._projects.values() if layout is None and root.is_relative_to(p.root)]
        innermost = max(outer, key=lambda project: len(project.root.parts), default=None)
        return (innermost, innermost.main) if innermost is not None else None

    async def remove(self, identifier: str) -> Project:
        """Remove the project from memory, registry and cache."""
        project = self.get(identifier)
        for name in ("index", "watch"):
            self._parts.tasks.end(f"{name}:{identifier}")
        self._parts.registry.remove(identifier)
        del self._projects[identifier]
        self._by_path = {path: found for path, found in self._by_path.items() if found[0] is not project}
        if project.code is not None:
            project.code.close()
        self.clear_cache(identifier)
        return project

    def clear_cache(self, identifier: str) -> None:
        """Delete the cache folder of a project, if it exists."""
        shutil.rmtree(self._caches / identifier, ignore_errors=True)

    def _adopt(self, record: ProjectRecord, layout: Layout | None = None) -> Project:
        root = Path(record.path)
        layout = layout or layouts.find(root) or layouts.plain(root)
        main = Tree(root, layout)
        main.look()
        project = Project(
            id=record.id,
            name=record.name,
            main=main,
            cache=make_private(self._caches / record.id),
            trees={root: main},
        )
        self._projects[project.id] = project
        self._indexing.recall(project)
        self.index(project)
        self._features.on_project_opened(project)
        return project

    def index(self, project: Project) -> None:
        """Update the project's models in the background."""

        async def work() -> None:
            project.indexing = True
            while project.missing:  # its disk may not be mounted yet
                await asyncio.sleep(ROOT_LOOK)
            await self._indexing.index(project)

        project.indexing = True
        project.reached("asked for")
        self._parts.tasks.start(f"index:{project.id}", work)

    def _tree(self, project: Project, layout: Layout) -> Tree:
        tree = project.trees.get(layout.root)
        if tree is None:
            tree = project.trees[layout.root] = Tree(layout.root, layout)
            tree.look()
        return tree
