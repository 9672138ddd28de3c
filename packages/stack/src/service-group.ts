import { join } from 'node:path'
import { type Child, reasonOf, startChild } from './processes/child.ts'
import { waitUntilReady } from './processes/readiness.ts'
import { type Supervised, supervise } from './processes/supervise.ts'
import { superviseWatched } from './processes/supervise-watched.ts'
import { watchSources } from './processes/watch-sources.ts'
import type { ServicePlan, StackPlan } from './settings/plan.ts'
import { environmentOf, type SharedSettings, writeEnvFile } from './settings/service-environment.ts'
import { StackFailure } from './stack-failure.ts'

/** Time for services to finish. The database must also stop within the five seconds of a Ctrl-C. */
const endSteps = [
  { signal: 'SIGTERM', waitMs: 2_700, target: 'process' },
  { signal: 'SIGKILL', waitMs: 300, target: 'group' },
] as const

/** Two busy cores need more than a minute for the first start of three services. What cannot start ends, and is told at once. */
const READY_TIMEOUT_MS = 180_000

interface StartedService {
  readonly service: ServicePlan
  readonly child: Child
}

/** The input of a start of the services. */
export interface ServiceGroupOptions extends SharedSettings {
  readonly say: (line: string) => void
  readonly stop: AbortSignal
}

/** The services of the stack, which are kept running until `end`. */
export interface ServiceGroup {
  /** Never resolves. Rejects when a service does not stay up. */
  readonly failed: Promise<never>
  /** Ends all services. Resolves when the last one has ended. */
  readonly end: () => Promise<void>
}

/**
 * Starts all services at once, and returns them when each is ready.
 *
 * @throws StackFailure with the last lines of a service that ended early or was not ready in time. No service runs then
 */
export async function startServices(plan: StackPlan, options: ServiceGroupOptions): Promise<ServiceGroup> {
  const children: StartedService[] = []
  try {
    for (const service of plan.services) children.push({ service, child: await startService(service, plan, options) })
    await Promise.all(children.map(({ service, child }) => waitForService(service, child, options.stop)))
  } catch (error) {
    await Promise.all(children.map(({ child }) => child.end(endSteps)))
    throw error
  }
  for (const { child } of children) {
    for (const warning of unknownSettings(child.output())) options.say(`${child.name}: ${warning}`)
  }
  const running = plan.isWatched
    ? await watchAll(children, plan, options)
    : children.map((one) => keep(one, plan, options))
  return {
    failed: Promise.race(running.map(({ failed }) => failed)),
    end: async (): Promise<void> => {
      await Promise.all(running.map((service) => service.end()))
    },
  }
}

/**
 * The lines that a service has logged about misspelt settings. They would have no effect, and nobody reads the log of a good
 * start.
 */
function unknownSettings(lines: readonly string[]): readonly string[] {
  return lines.flatMap((line) => /"msg":"(unknown setting [^"\\]+)"/.exec(line)?.[1] ?? [])
}

/** Starts a service again whenever it ends by itself. */
function keep({ service, child }: StartedService, plan: StackPlan, options: ServiceGroupOptions): Supervised {
  return supervise(child, {
    start: () => startService(service, plan, options),
    endSteps,
    onEnd: (name, end) => options.say(`${name} has ended (${reasonOf(end)}) and is restarted`),
  })
}

/** Restarts each service whenever its sources change. */
async function watchAll(
  children: readonly StartedService[],
  plan: StackPlan,
  options: ServiceGroupOptions,
): Promise<readonly Supervised[]> {
  const watched = new Map(
    children.map(({ service, child }) => [
      service.definition.name,
      superviseWatched(child, {
        start: () => startService(service, plan, options),
        waitUntilReady: (next) => waitForService(service, next, options.stop),
        endSteps,
        say: options.say,
      }),
    ]),
  )
  const sources = await watchSources({
    root: plan.root,
    services: [...watched.keys()],
    onChange: (name, files) => watched.get(name)?.change(files),
    onProblem: options.say,
  })
  return [...watched.values()].map(({ failed, end }) => ({
    failed,
    end: async () => {
      await Promise.all([end(), sources.close()])
    },
  }))
}

function startService(service: ServicePlan, plan: StackPlan, options: ServiceGroupOptions): Promise<Child> {
  const { definition, entry } = service
  const env = environmentOf(definition, plan.env, options)
  writeEnvFile(join(plan.dataDirectory, `${definition.name}.env`), env, (name) => isOwn(name, definition.prefix))
  return startChild({
    name: definition.name,
    program: process.execPath,
    args: [entry, 'serve'],
    env: { ...env },
    cwd: plan.root,
    logFile: join(plan.logDirectory, `${definition.name}.log`),
    pidFile: { file: join(plan.runDirectory, `${definition.name}.pid`), program: entry },
  })
}

function isOwn(name: string, prefix: string): boolean {
  return name.startsWith(prefix) || name === 'DATABASE_URL' || name === 'LOG_LEVEL'
}

async function waitForService({ definition, address }: ServicePlan, child: Child, stop: AbortSignal): Promise<void> {
  const over = new AbortController()
  const late = AbortSignal.timeout(READY_TIMEOUT_MS)
  const host = isEveryAddress(address.host) ? '127.0.0.1' : address.host
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${address.port}/ready`
  const fails = child.ended.then((end) => {
    const problem = `${definition.name} has ended before it was ready (${reasonOf(end)}).`
    throw new StackFailure([problem, 'Its last lines:', ...end.tail])
  })
  try {
    await Promise.race([waitUntilReady(url, AbortSignal.any([over.signal, late, stop])), fails])
  } catch (error) {
    if (!late.aborted || stop.aborted) throw error
    throw new StackFailure([
      `${definition.name} is not ready after ${READY_TIMEOUT_MS / 1000} s: ${url} does not answer 200.`,
    ])
  } finally {
    over.abort()
    fails.catch(() => undefined)
  }
}

function isEveryAddress(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}
