"""Run a Pulumi program in this process and record its resource graph, without CLI, plugins and network."""

import asyncio
import contextvars
import gc
import threading
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, cast

from pulumi.runtime import config as runtime_config
from pulumi.runtime import mocks, settings
from pulumi.runtime import resource as runtime_resource
from pulumi.runtime import stack as runtime_stack
from pulumi.runtime.proto import source_pb2

from rackwright_pulumi.resource_graph import STACK_TYPE, Graph
from rackwright_pulumi.simulator.computed import Context
from rackwright_pulumi.testing.monitor import GraphMonitor, Invokes, StackOutputs

Program = Callable[[], object]
"""Declares resources. An awaitable that it returns is awaited, any other value is ignored."""
STOCK_WAIT, STOCK_STACK_TRACE = runtime_stack.wait_for_rpcs, runtime_resource._get_stack_trace
"""Pulumi's functions, saved once so that concurrent runs restore them and not each other's replacement."""


def record(
    program: Program,
    *,
    project: str = "rackwright",
    stack: str = "test",
    config: Mapping[str, str] | None = None,
    secrets: Collection[str] = (),
    preview: bool = False,
    context: Context | None = None,
    invokes: Invokes | None = None,
    stack_outputs: StackOutputs | None = None,
) -> Graph:
    """The resource graph of a program, with the outputs of a simulated cloud.

    program: declares the resources; an awaitable that it returns is awaited, other values are ignored.
    config: `project:key` to text; secrets: the secret keys of config.
    preview: computed outputs are unknown, as in a first preview.
    stack_outputs: outputs of other stacks by the name in the StackReference; `Secret(value)` for a secret output.
    Raises the program's exception, DuplicateResource for two equal URNs, and UnknownStack.
    Every call has its own context variables and event loop, so calls may run concurrently.
    """
    from rackwright_pulumi.simulator.lookups.invokes import invokes as simulated_invokes

    context = context or Context()
    monitor = GraphMonitor(context, {**simulated_invokes(context), **(invokes or {})}, preview, stack_outputs or {})
    run = contextvars.copy_context().run
    run(_run, program, monitor, project, stack, dict(config or {}), list(secrets), preview)
    root = next(node for node in monitor.nodes.values() if node.type == STACK_TYPE)
    nodes = {urn: monitor.nodes[urn] for urn in sorted(monitor.nodes) if urn != root.urn}
    for node in nodes.values():
        node.parent = "" if node.parent == root.urn else node.parent
    return Graph(nodes, root.outputs, monitor.invoked)


class _InlineLoop(asyncio.SelectorEventLoop):
    """Calls of the monitor are answered at once: pulumi sends each to a thread, which here takes a fifth of a recording."""

    def run_in_executor(self, executor: object, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        answer = self.create_future()
        try:
            answer.set_result(func(*args))
        except Exception as failure:
            answer.set_exception(failure)
        return answer


def _run(program: Program, monitor: GraphMonitor, project: str, stack_name: str, values: dict, secret: list, preview: bool) -> None:
    collecting = gc.isenabled()
    gc.disable()  # every future lives until the end, so collections only double the time
    loop = _InlineLoop()
    loop.set_exception_handler(lambda *_: None)  # one failed apply fails every output; the first failure is raised
    asyncio.set_event_loop(loop)
    try:
        settings.ROOT.set(None)
        settings.configure(
            mocks.MockSettings(
                monitor=monitor,
                monitor_features=set(),
                engine=mocks.MockEngine(None),
                project=project,
                stack=stack_name,
                organization="organization",
                dry_run=preview,
                callbacks=None,
                outputs=set(),
                lock=threading.Lock(),
                parallel=None,
                legacy_apply_enabled=False,
                package_refs={},
                base_providers_by_ref={},
                root_directory=".",
            )
        )
        runtime_config.set_all_config(values, secret)
        loop.run_until_complete(_in_stack(program))
    finally:
        asyncio.set_event_loop(None)
        loop.close()
        if collecting:
            gc.enable()


async def _in_stack(program: Program) -> None:
    # A type checker refuses plain assignments to functions.
    setattr(runtime_stack, "wait_for_rpcs", _drain)  # noqa: B010
    # Pulumi prints the source line of a resource; a graph has none, and collecting them takes a sixth of a recording.
    setattr(runtime_resource, "_get_stack_trace", source_pb2.StackTrace)  # noqa: B010
    try:
        await runtime_stack.run_in_stack(cast(Callable[[], Awaitable[None] | None], program))
    finally:
        runtime_stack.wait_for_rpcs = STOCK_WAIT
        runtime_resource._get_stack_trace = STOCK_STACK_TRACE


async def _drain(await_all_outstanding_tasks: bool = True) -> None:
    """pulumi.runtime.stack.wait_for_rpcs in linear time: the original scans all pending outputs once per output."""
    manager = settings._get_rpc_manager()
    while True:
        while manager.rpcs:
            await asyncio.sleep(0)
            await manager.rpcs.pop()
        if manager.unhandled_exception is not None:
            raise manager.unhandled_exception.with_traceback(manager.exception_traceback)
        with settings.SETTINGS.lock:
            pending = list(settings.SETTINGS.outputs) if await_all_outstanding_tasks else []
            settings.SETTINGS.outputs.clear()
        if pending:
            done, rest = await asyncio.wait(pending, return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                task.result()
            with settings.SETTINGS.lock:
                settings.SETTINGS.outputs.update(rest)
        elif not manager.rpcs:
            return
