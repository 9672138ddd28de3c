import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { watch } from 'chokidar'
import { z } from 'zod'
import { type Child, reasonOf, type Supervised, startChild, supervise } from './processes/child.ts'
import type { EndStep } from './processes/process-identity.ts'
import { waitUntilReady } from './processes/readiness.ts'
import type { ServicePlan, StackPlan } from './settings/plan.ts'
import { environmentOf, isReadBy, type SharedSettings, writeEnvFile } from './settings/service-environment.ts'
import { StackFailure } from './stack-failure.ts'

/** The time for services to finish. The database must also stop within the five seconds after a Ctrl-C. */
const endSteps = [
  { signal: 'SIGTERM', waitMs: 2_700, target: 'process' },
  { signal: 'SIGKILL', waitMs: 300, target: 'group' },
] as const

/** With two busy cores, the first start of three services takes more than a minute. */
const READY_TIMEOUT_MS = 180_000

interface StartedService {
  readonly service: ServicePlan
  readonly child: Child
}

interface ServiceGroupOptions extends SharedSettings {
  readonly say: (line: string) => void
  readonly stop: AbortSignal
}

/** The services of the stack, which are restarted until `end`. */
interface ServiceGroup {
  /** Never resolves. Rejects if a service ends too often. */
  readonly failed: Promise<never>
  /** Ends all services. Resolves when all have ended. */
  readonly end: () => Promise<void>
}

/**
 * Starts all services at the same time and waits until each is ready. @throws StackFailure with the last lines of a service that
 * ended early or was not ready in time. In this case all services are stopped.
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
 * Returns the lines in which a service has logged misspelled settings. The terminal shows them, because such settings have no
 * effect and nobody reads the log after a successful start.
 */
function unknownSettings(lines: readonly string[]): readonly string[] {
  return lines.flatMap((line) => /"msg":"(unknown setting [^"\\]+)"/.exec(line)?.[1] ?? [])
}

/** Restarts a service if it ends on its own. */
function keep({ service, child }: StartedService, plan: StackPlan, options: ServiceGroupOptions): Supervised {
  return supervise(child, {
    start: () => startService(service, plan, options),
    endSteps,
    onEnd: (name, end) => options.say(`${name} has ended (${reasonOf(end)}) and is restarted`),
  })
}

/** Restarts each service when its sources change. */
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
  writeEnvFile(join(plan.dataDirectory, `${definition.name}.env`), env, (name) => isReadBy(name, definition.prefix))
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

/** The functions and options for restarting a service when its sources change. */
interface WatchedOptions {
  readonly start: () => Promise<Child>
  /** Resolves when the service is ready. Rejects with a StackFailure if the service has ended or is not ready in time. */
  readonly waitUntilReady: (child: Child) => Promise<void>
  readonly endSteps: readonly EndStep[]
  readonly say: (line: string) => void
}

/** A service that restarts after each change until `end`. */
interface WatchedService extends Supervised {
  readonly change: (files: readonly string[]) => void
  /** Never resolves. Rejects only if the program cannot be run. */
  readonly failed: Promise<never>
}

/**
 * Restarts a service after each change. Returns functions to end it and to report changes. If the service ends on its own, it
 * starts again only after the next change, because it would probably end again. The function prints each restart and each end.
 * The reason for the end is in the log of the service, which the terminal shows anyway.
 */
export function superviseWatched(first: Child, options: WatchedOptions): WatchedService {
  const { start, waitUntilReady, endSteps, say } = options
  const changes = createChanges()
  let child = first
  let isDown = false
  let isEnding = false
  const report = (problem: string): void => {
    isDown = true
    say(problem)
    say(`${child.name} starts again when a file changes`)
  }
  const restart = async (files: readonly string[]): Promise<void> => {
    isDown = false
    const begunMs = performance.now()
    say(`${child.name} restarts: ${namesOf(files)} changed`)
    await child.end(endSteps)
    if (isEnding) return
    child = await start()
    try {
      await waitUntilReady(child)
      say(`${child.name} is ready again after ${((performance.now() - begunMs) / 1_000).toFixed(1)} s`)
    } catch (error) {
      if (!(error instanceof StackFailure)) return
      report(error.problems[0] ?? '')
    }
  }
  const keepRunning = async (): Promise<void> => {
    for (;;) {
      const end = isDown ? undefined : await Promise.race([changes.next(), child.ended])
      if (end && !isEnding && !changes.isWaiting()) report(`${child.name} has ended (${reasonOf(end)})`)
      await changes.next()
      if (isEnding) return
      await restart(changes.take())
    }
  }
  const running = keepRunning()
  const failed = running.then(() => new Promise<never>(() => undefined))
  // The caller awaits it only when everything is up. Until then a failure must not count as unhandled.
  failed.catch(() => undefined)
  return {
    change: (files: readonly string[]): void => changes.add(files),
    failed,
    end: async (): Promise<void> => {
      isEnding = true
      changes.add([])
      await child.end(endSteps)
      await running.catch(() => undefined)
      // A restart in progress may have started another process.
      await child.end(endSteps)
    },
  }
}

function namesOf([first = '', ...others]: readonly string[]): string {
  return others.length === 0 ? first : `${first} and ${others.length} more`
}

/** Changed files that wait for a restart. */
function createChanges() {
  const files = new Set<string>()
  let come = Promise.withResolvers<void>()
  return {
    add: (more: readonly string[]): void => {
      for (const file of more) files.add(file)
      come.resolve()
    },
    isWaiting: (): boolean => files.size > 0,
    /** Resolves when a file is waiting. */
    next: (): Promise<void> => come.promise,
    take: (): readonly string[] => {
      const taken = [...files]
      files.clear()
      come = Promise.withResolvers<void>()
      return taken
    },
  }
}

const Manifest = z.object({ name: z.string(), dependencies: z.record(z.string(), z.string()).default({}) })

/** Switching the branch replaces many files. Changes that arrive within this time count as one change. */
const QUIET_MS = 120

/** Watches the sources of services until `close`. */
export interface SourceWatch {
  close(): Promise<void>
}

interface SourceWatchOptions {
  readonly root: string
  readonly services: readonly string[]
  /** Called for a service with the changed files that it loads, as paths relative to the root. */
  readonly onChange: (service: string, files: readonly string[]) => void
  /** Called if the system refuses a watch, for example because its limit is reached. */
  readonly onProblem: (message: string) => void
}

/** Watches the sources of services. Watches folders instead of files, because editors and git replace files by renaming. */
export async function watchSources({ root, services, ...told }: SourceWatchOptions): Promise<SourceWatch> {
  const folders = new Map(services.map((service) => [service, watchedFolders(root, service)]))
  const watcher = watch(
    [...new Set([...folders.values()].flat())].map((folder) => join(root, folder)),
    {
      ignoreInitial: true,
      ignored: isIgnored,
    },
  )
  const changed = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  const reportChanges = (): void => {
    const files = [...changed].sort()
    changed.clear()
    for (const [service, own] of folders) {
      const loaded = files.filter((file) => own.some((folder) => file.startsWith(`${folder}/`)))
      if (loaded.length > 0) told.onChange(service, loaded)
    }
  }
  watcher.on('all', (_event, path) => {
    const file = relative(root, path).replaceAll(sep, '/')
    if (!isSource(file)) return
    changed.add(file)
    clearTimeout(timer)
    timer = setTimeout(reportChanges, QUIET_MS)
  })
  watcher.on('error', (error) => told.onProblem(`Not every change is noticed: ${error}`))
  await new Promise<void>((resolve) => watcher.once('ready', () => resolve()))
  return {
    close: async () => {
      clearTimeout(timer)
      await watcher.close()
    },
  }
}

/** Files that are not sources are not watched. Folders are watched, because sources may be created in them. */
function isIgnored(path: string): boolean {
  if (path.includes(`${sep}node_modules`)) return true
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true && !isSource(path.replaceAll(sep, '/'))
}

/**
 * Returns the folders of the files that a service loads: its own sources, and the sources of the workspace packages that it
 * depends on, directly or indirectly.
 *
 * @param root the checkout
 */
function watchedFolders(root: string, service: string): readonly string[] {
  const packages = readPackages(root)
  const found = new Set<string>()
  const visit = (folder: string): void => {
    if (found.has(folder)) return
    found.add(folder)
    const manifest = readManifest(join(root, folder))
    for (const name of Object.keys(manifest?.dependencies ?? {})) {
      const target = packages.get(name)
      if (target !== undefined) visit(target)
    }
  }
  visit(`services/${service}`)
  return [...found].map((folder) => (existsSync(join(root, folder, 'src')) ? `${folder}/src` : folder))
}

function readPackages(root: string): ReadonlyMap<string, string> {
  const below = existsSync(join(root, 'packages')) ? readdirSync(join(root, 'packages')) : []
  const folders = ['migrations', ...below.map((name) => `packages/${name}`)]
  return new Map(
    folders.flatMap((folder) => {
      const manifest = readManifest(join(root, folder))
      return manifest === undefined ? [] : [[manifest.name, folder] as const]
    }),
  )
}

function readManifest(folder: string): z.output<typeof Manifest> | undefined {
  const file = join(folder, 'package.json')
  return existsSync(file) ? Manifest.parse(JSON.parse(readFileSync(file, 'utf8'))) : undefined
}

/** Returns whether a change of a file affects a service. Tests and documents do not. */
function isSource(path: string): boolean {
  return /\.(ts|js|json|sql|css|html|svg)$/.test(path) && !/\.test\.ts$|\/(test|node_modules)\//.test(path)
}
