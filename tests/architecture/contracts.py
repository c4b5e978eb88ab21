"""A kind of import contract for import-linter: of one package, a room takes only some rooms."""

from typing import Any

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class TakesOnlyContract(Contract):
    """`importers` take from `package` only `allowed`; rooms that do not exist yet break nothing."""

    importers = fields.ListField(subfield=fields.StringField())
    package = fields.StringField()
    allowed = fields.ListField(subfield=fields.StringField(), required=False, default=[])

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002 - import-linter's signature
        """Look at every direct import of the importers."""
        breaches = [
            f"{module} imports {target}"
            for module in sorted(graph.modules)
            if self._is_in(module, self.importers)
            for target in sorted(graph.find_modules_directly_imported_by(module))
            if self._is_in(target, [self.package])
            and not self._is_in(target, self.importers)
            and not self._is_in(target, self.allowed)
        ]
        return ContractCheck(kept=not breaches, metadata={"breaches": breaches})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print one line for each import that breaks the contract."""
        for line in check.metadata["breaches"]:
            output.print_error(line)

    @staticmethod
    def _is_in(module: str, rooms: Any) -> bool:
        return any(module == room or module.startswith(f"{room}.") for room in rooms)
