"""Registry of open projects: lookup by path or id, registration, indexing, removal."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

from hunchd.config.app_paths import ensure_private_folder, expand_path
from hunchd.core.projects.project_indexer import ProjectIndexer
from hunchd.core.state.dependencies import Dependencies, TaskSupervisor
from hunchd.core.state.feature import Feature, Features
from hunchd.core.state.project import Project, UserState, WorkingTree
from hunchd.domain.errors import InvalidInput, NotFound
from hunchd.domain.facts import MemoryChange
from hunchd.domain.memory import Memory
from hunchd.repository import layout as layouts
from hunchd.repository.layout import RepositoryLayout
from hunchd.store.registry import RegisteredProject as ProjectRecord

ROOT_POLL_SECONDS = 2.0  # seconds between two checks for a missing folder


class OpenProjects(Feature):
    """Registry of the open projects, which finds them by id or path."""

    def __init__(self, dependencies: Dependencies, indexer: ProjectIndexer, features: Features) -> None:
        self._dependencies = dependencies
        self._indexer = indexer
        self._features = features
        self.own = UserState()
        self._projects: dict[str, Project] = {}
        self._by_path: dict[str, tuple[Project, WorkingTree]] = {}  # lookup cache by path
        self._caches = dependencies.paths.cache / "projects"

    def __iter__(self) -> Iterator[Project]:
        return iter(self._projects.values())

    def __len__(self) -> int:
        return len(self._projects)

    @property
    def ids(self) -> list[str]:
        return list(self._projects)

    def start(self, tasks: TaskSupervisor) -> None:
        self.open_all()

    async def stop(self) -> None:
        """Save the models, so that the next start need not rebuild them."""
        for project in self:
            if project.predictor is not None and not project.indexing:
                await asyncio.to_thread(self._indexer.save, project)
            if project.code is not None:
                project.code.close()

    def on_memory_changed(self, change: MemoryChange, project: Project | None) -> None:
        """Apply the change, so that the next bundle shows it.

        A change to the user's own memories affects the bundles of all projects.
        """
        if project is not None:
            project.apply_change(change)
        elif change.project is None:
            self.own.apply_change(change)
            for each in self:
                each.bump_revision()

    def resolve_id(self, name: str) -> str:
        """Return the id of the project with an id or path.

        Raises NotFound if there is none.
        """
        return self.find(name)[0].id

    def list_roots(self) -> list[Path]:
        """Return the root folders of the projects whose folder exists."""
        return [project.root for project in self._projects.values() if not project.is_missing]

    def open_all(self) -> None:
        """Open all registered projects with their saved models; delete orphaned caches."""
        records = self._dependencies.registry.list_projects()
        known_ids = {record.id for record in records}
        for cache in self._caches.iterdir() if self._caches.is_dir() else ():
            if cache.name not in known_ids:
                self.clear_cache(cache.name)
        for record in records:
            self._open(record)

    def add(self, path: str, *, must_exist: bool = True, identifier: str | None = None) -> Project:
        """Register the project that contains `path` and return it.

        A new project gets the id `identifier` if that id is free. Raises InvalidInput if the folder does not exist,
        cannot be read, or is not suitable as a project.
        """
        folder = expand_path(path)
        if not folder.is_absolute():
            raise InvalidInput("'path' must be absolute", field="path")
        if must_exist and not layouts.is_folder(folder):
            raise InvalidInput(
                f"there is no folder {path}", field="path", hint="specify the path of an existing folder"
            )
        layout = layouts.find_repository(folder) or layouts.make_plain_layout(folder.resolve())
        if layout.bare:
            raise InvalidInput(f"{path} is a bare repository; a working tree is needed", field="path")
        if must_exist:
            self._reject_whole_machine(layout)
            if not layouts.is_readable(layout.root):
                raise InvalidInput(
                    f"{layout.root} cannot be read", field="path", hint="give hunchd permission to read it"
                )
        record = self._dependencies.registry.add(layout.root, common_dir=layout.common_dir, identifier=identifier)
        if record.id in self._projects:
            project = self._projects[record.id]
            tree = self._get_tree(project, layout)
            if record.path == str(tree.root) != str(project.root):
                self._move_to_tree(project, tree)
                project.name = record.name
            return project
        return self._open(record, layout)

    def _move_to_tree(self, project: Project, tree: WorkingTree) -> None:
        """Continue the project in a different worktree of its repository.

        This happens when the project's own folder, for instance a linked worktree, was deleted or moved.
        """
        self._features.on_project_closed(project)
        project.trees.pop(project.root, None)
        project.main = tree
        self._by_path = {path: entry for path, entry in self._by_path.items() if entry[0] is not project}
        project.bump_revision()
        self._resume(project)

    def _reject_whole_machine(self, layout: RepositoryLayout) -> None:
        """Reject the file system root and the home folder.

        Indexing them would never finish. A home folder that is a git repository is accepted, because its owner has
        chosen which files belong to the repository.
        """
        root = layout.root
        what = "the root of the file system" if root == Path(root.anchor) else "your home folder"
        is_everything = root == Path(root.anchor) or (layout.git_dir is None and root == expand_path("~").resolve())
        if is_everything and self._dependencies.registry.find(root, common_dir=layout.common_dir) is None:
            raise InvalidInput(
                f"{root} is {what}", field="path", hint="specify a git working tree or a folder inside one"
            )

    def get(self, identifier: str) -> Project:
        """Return the project with this id.

        Raises NotFound if there is none.
        """
        try:
            return self._projects[identifier]
        except KeyError:
            raise NotFound(f"there is no project '{identifier}'", hint="GET /projects lists them") from None

    def list_standing_facts(self, identifier: str | None) -> list[Memory]:
        """Return all facts of a project, or the user's facts and profile pages for None.

        Unlike the contents of a cache, the list is always complete, however long it is.
        """
        if identifier is None:
            return [*self.own.profile.values(), *self.own.facts.values()]
        project = self.find_by_id(identifier)
        return list(project.facts.values()) if project is not None else []

    def find_by_id(self, identifier: str | None) -> Project | None:
        """Return the project with this id, or None if there is none.

        The result is also None if the id is None, which stands for the user's own memories.
        """
        return self._projects.get(identifier) if identifier is not None else None

    def find(self, name: str) -> tuple[Project, WorkingTree]:
        """Return the project and working tree for an id or path.

        Raises NotFound if `name` does not belong to a known project.
        """
        if entry := self._by_path.get(name):
            return entry
        if name in self._projects:
            project = self._projects[name]
            return project, project.main
        entry = self._find_by_path(Path(name)) if Path(name).is_absolute() else None
        if entry is None:
            raise NotFound(
                f"{name} does not belong to a known project",
                field="project",
                hint="run `hunch add` first (POST /projects)",
            )
        if len(self._by_path) < 4_096:
            self._by_path[name] = entry
        return entry

    def _find_by_path(self, path: Path) -> tuple[Project, WorkingTree] | None:
        layout = layouts.find_repository(path)
        root = layout.root if layout is not None else path.resolve()
        for project in self._projects.values():
            if root in project.trees:
                return project, project.trees[root]
            if (
                layout is not None
                and layout.common_dir is not None
                and layout.common_dir == project.main.layout.common_dir
            ):
                return project, self._get_tree(project, layout)
        outer = [p for p in self._projects.values() if layout is None and root.is_relative_to(p.root)]
        innermost = max(outer, key=lambda project: len(project.root.parts), default=None)
        return (innermost, innermost.main) if innermost is not None else None

    async def remove(self, identifier: str) -> Project:
        """Remove the project from memory, registry and cache."""
        project = self.get(identifier)
        for name in ("index", "watch"):
            self._dependencies.tasks.end(f"{name}:{identifier}")
        self._dependencies.registry.remove(identifier)
        del self._projects[identifier]
        self._by_path = {path: entry for path, entry in self._by_path.items() if entry[0] is not project}
        if project.code is not None:
            project.code.close()
        self.clear_cache(identifier)
        return project

    def clear_cache(self, identifier: str) -> None:
        """Delete the cache folder of a project, if it exists."""
        shutil.rmtree(self._caches / identifier, ignore_errors=True)

    def _open(self, record: ProjectRecord, layout: RepositoryLayout | None = None) -> Project:
        root = Path(record.path)
        layout = layout or layouts.find_repository(root) or layouts.make_plain_layout(root)
        main = WorkingTree(root, layout)
        main.refresh_head()
        project = Project(
            id=record.id,
            name=record.name,
            main=main,
            cache=ensure_private_folder(self._caches / record.id),
            trees={root: main},
            is_paused=record.is_paused,
        )
        self._projects[project.id] = project
        self._indexer.load(project)
        self._resume(project)
        return project

    def set_paused(self, identifier: str, *, is_paused: bool) -> Project:
        """Pause or resume the watching and indexing of a project.

        Raises NotFound if there is no such project.
        """
        project = self.get(identifier)
        if project.is_paused != is_paused:
            self._dependencies.registry.set_paused(identifier, is_paused=is_paused)
            project.is_paused = is_paused
            self._dependencies.tasks.end(f"index:{identifier}")
            self._features.on_project_closed(project)
            self._resume(project)
        return project

    def _resume(self, project: Project) -> None:
        """Index and watch a project unless it is paused."""
        project.indexing = not project.is_paused
        if not project.is_paused:
            self.start_indexing(project)
            self._features.on_project_opened(project)

    def start_indexing(self, project: Project) -> None:
        """Update the project's models in the background."""

        async def work() -> None:
            project.indexing = True
            while project.is_missing:  # its disk may not be mounted yet
                await asyncio.sleep(ROOT_POLL_SECONDS)
            await self._indexer.index(project)

        project.indexing = True
        project.record_indexing_step("asked for")
        self._dependencies.tasks.start(f"index:{project.id}", work)

    def _get_tree(self, project: Project, layout: RepositoryLayout) -> WorkingTree:
        tree = project.trees.get(layout.root)
        if tree is None:
            tree = project.trees[layout.root] = WorkingTree(layout.root, layout)
            tree.refresh_head()
        return tree
