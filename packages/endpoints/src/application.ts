import { type Answer, errorEnvelope, toResponse } from './answers/answer.ts'
import { answerRequest } from './calls/answer-request.ts'
import { consoleLog, type Log } from './config/log.ts'
import { type ApplicationOptions, readOptions } from './config/options.ts'
import type { Core } from './core.ts'
import { buildTable, emptyTable } from './discovery/build-table.ts'
import { followImports, nextVersion } from './discovery/import-graph.ts'
import { loadModules } from './discovery/load-modules.ts'
import { watchModules } from './discovery/watch.ts'
import { CallError } from './errors.ts'
import { type ApplicationEvents, type Listener, Listeners } from './events.ts'
import { type FastifyPlugin, fastifyPlugin } from './interfaces/fastify.ts'
import { FetchIncoming } from './interfaces/fetch.ts'
import { type InjectedRequest, toIncoming } from './interfaces/inject.ts'
import { asNode, NodeIncoming, type NodeListener, sendToNode } from './interfaces/node.ts'
import { buildDocument, packageInfo } from './openapi/document.ts'
import type { OpenApiDocument } from './openapi/document-types.ts'
import { ControllerApplication } from './request/controller-application.ts'
import type { Incoming } from './request/incoming.ts'
import type { ListedRoute, ResolvedPath } from './routing/listed-route.ts'
import { listRoutes, resolvePath } from './routing/resolve.ts'
import type { RouteTable } from './routing/table.ts'

type Prefixes = NonNullable<ApplicationOptions['controllerPrefix']>

/** Controllers, and the ways to serve them. They are loaded when `ready` is called, or by the first request. */
export class Application<Context = unknown> extends ControllerApplication<Context> {
  readonly #options: ApplicationOptions<Context>
  readonly #core: Core
  readonly #log: Log
  readonly #listeners = new Listeners((error, message) => this.#core.log(error, message))
  readonly #lifecycle: Lifecycle
  /** Prefixes under which Fastify servers have registered the application. */
  readonly #mounts = new Set<string>()

  /** @throws Error for options that contradict each other. */
  constructor(given: Prefixes | ApplicationOptions<Context> = {}) {
    const options: ApplicationOptions<Context> = isPrefixes(given) ? { controllerPrefix: given } : given
    // Without the option, the author of the controllers states no other type than undefined.
    super(options.context as Context, options.log ?? consoleLog)
    this.#options = options
    this.#log = neverThrowing(this.log)
    this.#core = {
      application: this,
      settings: readOptions(options),
      table: emptyTable,
      log: this.#log.error,
      listeners: this.#listeners,
    }
    this.#lifecycle = new Lifecycle({
      core: this.#core,
      build: (version) => this.#build(version),
      watch: options.watch ? (reload) => watchModules({ sources: options, warn: this.#log.warn, reload }) : undefined,
    })
  }

  /**
   * Loads the controllers once, and waits for the listeners of `ready`.
   * @throws Error when a controller cannot be imported or served. Nothing is served then.
   */
  ready(): Promise<this> {
    return this.#lifecycle.ready().then(() => this)
  }

  async #build(version: number): Promise<RouteTable> {
    // Follow imports before the first one, so that a change of any imported file is noticed.
    if (version === 0 && this.#options.watch) followImports(() => {})
    const table = buildTable(await loadModules(this.#options, version), this.#core.settings)
    for (const warning of table.warnings) this.#log.warn(warning)
    return table
  }

  /** Answers a request of an interface. Never rejects. It loads the controllers first, also after `close`. */
  readonly answer = (incoming: Incoming): Promise<Answer> => {
    if (this.#lifecycle.load === 'serving') return answerRequest(this.#core, incoming)
    return this.ready().then(
      () => answerRequest(this.#core, incoming),
      (error: unknown) => {
        this.#core.log(error, 'the controllers cannot be loaded')
        return unavailable
      },
    )
  }

  /** For `http.createServer(app.listener)`. */
  readonly listener: NodeListener = async (given, answered) => {
    const [request, response] = asNode(given, answered)
    try {
      sendToNode(response, await this.answer(new NodeIncoming(request, response)), this.#core.settings.writeTimeoutMs)
    } catch (error) {
      // For example a header that this version of HTTP forbids. Only this request fails, not the server.
      response.destroy()
      this.#core.log(error, 'an answer cannot be sent')
    }
  }

  /** The fetch handler of the web standard, for servers that take one: `export default app`. */
  readonly fetch = async (request: Request, ...extra: readonly unknown[]): Promise<Response> =>
    toResponse(await this.answer(new FetchIncoming(request, extra)))

  /** Returns the fetch handler, for servers that call a factory. */
  readonly factory = (): this['fetch'] => this.fetch

  /** For `fastify.register(app.fastify, { prefix })`. */
  readonly fastify: FastifyPlugin = fastifyPlugin(this, (prefix) => void this.#mounts.add(prefix))

  async inject(request: InjectedRequest): Promise<Response> {
    const incoming = await toIncoming(request)
    // A listener of `ready` may call this. Waiting for `ready` here would wait for that listener.
    return toResponse(await (this.#isLoaded ? answerRequest(this.#core, incoming) : this.answer(incoming)))
  }

  routes(): readonly ListedRoute[] {
    return listRoutes(this.#loadedCore().table)
  }

  resolve(method: string, path: string): ResolvedPath {
    const { table, settings } = this.#loadedCore()
    return resolvePath(table, { method, path }, settings)
  }

  openapi(): OpenApiDocument {
    const { info, dir, servers } = this.#options
    const mounts = [...this.#mounts].map((url) => ({ url: url === '' ? '/' : url }))
    const known = mounts.some(({ url }) => url !== '/') ? mounts : undefined
    return buildDocument(this.#loadedCore(), { info: info ?? packageInfo(dir), servers: servers ?? known })
  }

  #loadedCore(): Core {
    if (!this.#isLoaded) throw new Error('nothing is loaded yet: await app.ready() first')
    return this.#core
  }

  get #isLoaded(): boolean {
    return HAS_CONTROLLERS[this.#lifecycle.load]
  }

  /** Calls `listener` at each event. An error of the listener is logged, and stops nothing. */
  on<E extends keyof ApplicationEvents>(event: E, listener: Listener<E>): this {
    this.#listeners.add(event, listener)
    return this
  }

  /**
   * Ends the watch, with a reload that is under way, and resolves when the listeners of `close` have ended. Servers are closed by
   * the code that created them. Requests that still come are answered by the controllers as they are.
   */
  close(): Promise<void> {
    return this.#lifecycle.close()
  }
}

/** In which states requests can be answered and routes listed. Listeners of the first `ready` may do so before others. */
const HAS_CONTROLLERS: Readonly<Record<LoadState, boolean>> = {
  new: false,
  loading: false,
  preparing: true,
  serving: true,
  failed: false,
}

/** Wraps a log so that it never throws. A line that cannot be written must not fail a request, or end the process. */
function neverThrowing(log: Log): Log {
  const attempt = (write: () => void): void => {
    try {
      write()
    } catch (cause) {
      consoleLog.error(cause, 'the log failed')
    }
  }
  return {
    warn: (message) => attempt(() => log.warn(message)),
    error: (error, message) => attempt(() => log.error(error, message)),
  }
}

const unavailable: Answer = {
  status: 500,
  headers: ['content-type', 'application/json; charset=utf-8'],
  body: JSON.stringify(errorEnvelope(new CallError())),
}

function isPrefixes(given: object | string): given is Prefixes {
  return typeof given === 'string' || Array.isArray(given) || given instanceof URL
}

/** How far the controllers of an application are loaded. */
type LoadState = 'new' | 'loading' | 'preparing' | 'serving' | 'failed'
type LoadEvent = 'asked' | 'loaded' | 'prepared' | 'failed'

/** Whether changes of the controllers are watched, and whether one is being loaded. */
type WatchState = 'waiting' | 'watching' | 'reloading' | 'ended'
type WatchEvent = 'served' | 'changed' | 'reloaded' | 'closed'

/** The state of the load after each event. An event that leaves the state as it is has no effect. */
const NEXT_LOAD: Readonly<Record<LoadState, Readonly<Record<LoadEvent, LoadState>>>> = {
  new: { asked: 'loading', loaded: 'new', prepared: 'new', failed: 'new' },
  loading: { asked: 'loading', loaded: 'preparing', prepared: 'loading', failed: 'failed' },
  preparing: { asked: 'preparing', loaded: 'preparing', prepared: 'serving', failed: 'preparing' },
  serving: { asked: 'serving', loaded: 'serving', prepared: 'serving', failed: 'serving' },
  failed: { asked: 'failed', loaded: 'failed', prepared: 'failed', failed: 'failed' },
}

/** The state of the watch after each event. The event `reloaded` belongs to the newest reload only. */
const NEXT_WATCH: Readonly<Record<WatchState, Readonly<Record<WatchEvent, WatchState>>>> = {
  waiting: { served: 'watching', changed: 'waiting', reloaded: 'waiting', closed: 'ended' },
  watching: { served: 'watching', changed: 'reloading', reloaded: 'watching', closed: 'ended' },
  reloading: { served: 'reloading', changed: 'reloading', reloaded: 'watching', closed: 'ended' },
  ended: { served: 'ended', changed: 'ended', reloaded: 'ended', closed: 'ended' },
}

/** The parts of an application that its lifecycle uses: how its routes are built, and how changes of files are noticed. */
interface LifecycleOptions {
  readonly core: Pick<Core, 'table' | 'log' | 'listeners'>
  /** Builds the table of a version; 0 is the first load. @throws Error for a controller that cannot be imported or served */
  readonly build: (version: number) => Promise<RouteTable>
  /** Calls `reload` at each change, and returns a function that stops this. Undefined without the option `watch`. */
  readonly watch: ((reload: () => Promise<void>) => () => void) | undefined
}

/** `ready` and `close` wait this long for a listener. */
const LISTENER_MS = 30_000

/**
 * The load, the reloads and the end of an application. The README of the package has a diagram of the states.
 *
 * The load does not depend on `close`: a closed application still loads, and answers with its loaded controllers. Only the watch ends.
 */
export class Lifecycle {
  readonly #options: LifecycleOptions
  #load: LoadState = 'new'
  #watch: WatchState = 'waiting'
  /** The result of the load. Undefined in the state `new`. */
  #loading: Promise<void> | undefined
  #unwatch: (() => void) | undefined
  /** The version of the reload that began last. */
  #newest = 0

  constructor(options: LifecycleOptions) {
    this.#options = options
  }

  get load(): LoadState {
    return this.#load
  }

  get watch(): WatchState {
    return this.#watch
  }

  /** Loads the controllers once, and waits for the listeners of `ready`. @throws Error of `build`, also to later callers */
  ready(): Promise<void> {
    this.#loading ??= this.#start()
    return this.#loading
  }

  async #start(): Promise<void> {
    const { core, build, watch } = this.#options
    this.#load = NEXT_LOAD[this.#load].asked
    try {
      core.table = await build(0)
    } catch (error) {
      this.#load = NEXT_LOAD[this.#load].failed
      throw error
    }
    this.#load = NEXT_LOAD[this.#load].loaded
    await core.listeners.emitAndWait('ready', LISTENER_MS)
    this.#load = NEXT_LOAD[this.#load].prepared
    if (watch === undefined) return
    this.#watch = NEXT_WATCH[this.#watch].served
    // `close` may have come during the load. A watch that began after it would never end.
    if (this.#watch === 'watching') this.#unwatch = watch(() => this.#reload())
  }

  /** Keeps the old table when a new one cannot be built. Of several reloads at a time, the last one to start counts. */
  async #reload(): Promise<void> {
    const { core, build } = this.#options
    const version = nextVersion()
    this.#newest = version
    this.#watch = NEXT_WATCH[this.#watch].changed
    const built = await build(version).then(
      (table) => ({ table }),
      (error: unknown) => ({ error }),
    )
    // A later reload replaces this one, and `close` drops it: listeners of `ready` must not run after listeners of `close`.
    if (version !== this.#newest || this.#watch !== 'reloading') return
    this.#watch = NEXT_WATCH[this.#watch].reloaded
    if ('error' in built) return core.log(built.error, 'the controllers stay as they were')
    core.table = built.table
    core.listeners.emit('ready')
  }

  /** Ends the watch, and resolves when the listeners of `close` have ended. */
  async close(): Promise<void> {
    this.#watch = NEXT_WATCH[this.#watch].closed
    this.#unwatch?.()
    await this.#options.core.listeners.emitAndWait('close', LISTENER_MS)
  }
}
