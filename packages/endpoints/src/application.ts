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

/** The controllers, and the ways to serve them. The first call of `ready` or the first request loads the controllers. */
export class Application<Context = unknown> extends ControllerApplication<Context> {
  readonly #options: ApplicationOptions<Context>
  readonly #core: Core
  readonly #log: Log
  readonly #listeners = new Listeners((error, message) => this.#core.log(error, message))
  readonly #lifecycle: Lifecycle
  /** The prefixes under which Fastify servers have registered the application. */
  readonly #mounts = new Set<string>()

  /** @throws Error if options contradict each other */
  constructor(given: Prefixes | ApplicationOptions<Context> = {}) {
    const options: ApplicationOptions<Context> = isPrefixes(given) ? { controllerPrefix: given } : given
    // Without the option, the context is `undefined`. The author of the controllers must then declare `undefined` as its type.
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
   * Loads the controllers once and waits for the listeners of `ready`.
   * @throws Error if a controller cannot be imported or served. The application then serves nothing.
   */
  ready(): Promise<this> {
    return this.#lifecycle.ready().then(() => this)
  }

  async #build(version: number): Promise<RouteTable> {
    // Register the import hook before the first import, so that a change of any imported file is noticed.
    if (version === 0 && this.#options.watch) followImports(() => {})
    const table = buildTable(await loadModules(this.#options, version), this.#core.settings)
    for (const warning of table.warnings) this.#log.warn(warning)
    return table
  }

  /** Answers a request of an interface. Never rejects. Loads the controllers first if necessary, even after `close`. */
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

  /** The listener for `http.createServer(app.listener)`. */
  readonly listener: NodeListener = async (given, answered) => {
    const [request, response] = asNode(given, answered)
    try {
      sendToNode(response, await this.answer(new NodeIncoming(request, response)), this.#core.settings.writeTimeoutMs)
    } catch (error) {
      // An example is a header that this version of HTTP forbids. Only this request fails, not the server.
      response.destroy()
      this.#core.log(error, 'an answer cannot be sent')
    }
  }

  /** The fetch handler of the web standard, for servers that accept it: `export default app`. */
  readonly fetch = async (request: Request, ...extra: readonly unknown[]): Promise<Response> =>
    toResponse(await this.answer(new FetchIncoming(request, extra)))

  /** Returns the fetch handler, for servers that call a factory. */
  readonly factory = (): this['fetch'] => this.fetch

  /** The plugin for `fastify.register(app.fastify, { prefix })`. */
  readonly fastify: FastifyPlugin = fastifyPlugin(this, (prefix) => void this.#mounts.add(prefix))

  async inject(request: InjectedRequest): Promise<Response> {
    const incoming = await toIncoming(request)
    // A listener of `ready` may call this function. Waiting for `ready` here would then wait for that listener.
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

  /** Calls `listener` at each event. An error of the listener is logged and has no other effect. */
  on<E extends keyof ApplicationEvents>(event: E, listener: Listener<E>): this {
    this.#listeners.add(event, listener)
    return this
  }

  /**
   * Stops watching files, including a reload in progress. Resolves when the listeners of `close` have ended. The code that
   * created servers must close them. The current controllers answer requests that still arrive.
   */
  close(): Promise<void> {
    return this.#lifecycle.close()
  }
}

/** Whether requests can be answered, by load state. In `preparing`, only listeners of the first `ready` send requests. */
const HAS_CONTROLLERS: Readonly<Record<LoadState, boolean>> = {
  new: false,
  loading: false,
  preparing: true,
  serving: true,
  failed: false,
}

/** Wraps a log so that it never throws. A log line that cannot be written must not fail a request or end the process. */
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

/** The load state of the controllers. */
type LoadState = 'new' | 'loading' | 'preparing' | 'serving' | 'failed'
type LoadEvent = 'asked' | 'loaded' | 'prepared' | 'failed'

/** Whether the application watches the files of the controllers, and whether it is reloading a change. */
type WatchState = 'waiting' | 'watching' | 'reloading' | 'ended'
type WatchEvent = 'served' | 'changed' | 'reloaded' | 'closed'

/** The load state after each event. An event that does not change the state has no effect. */
const NEXT_LOAD: Readonly<Record<LoadState, Readonly<Record<LoadEvent, LoadState>>>> = {
  new: { asked: 'loading', loaded: 'new', prepared: 'new', failed: 'new' },
  loading: { asked: 'loading', loaded: 'preparing', prepared: 'loading', failed: 'failed' },
  preparing: { asked: 'preparing', loaded: 'preparing', prepared: 'serving', failed: 'preparing' },
  serving: { asked: 'serving', loaded: 'serving', prepared: 'serving', failed: 'serving' },
  failed: { asked: 'failed', loaded: 'failed', prepared: 'failed', failed: 'failed' },
}

/** The watch state after each event. Only the newest reload emits the event `reloaded`. */
const NEXT_WATCH: Readonly<Record<WatchState, Readonly<Record<WatchEvent, WatchState>>>> = {
  waiting: { served: 'watching', changed: 'waiting', reloaded: 'waiting', closed: 'ended' },
  watching: { served: 'watching', changed: 'reloading', reloaded: 'watching', closed: 'ended' },
  reloading: { served: 'reloading', changed: 'reloading', reloaded: 'watching', closed: 'ended' },
  ended: { served: 'ended', changed: 'ended', reloaded: 'ended', closed: 'ended' },
}

/** The functions that a lifecycle uses to build routes and to notice changes of files. */
interface LifecycleOptions {
  readonly core: Pick<Core, 'table' | 'log' | 'listeners'>
  /** Builds the table of a version. Version 0 is the first load. @throws Error if a controller cannot be imported or served */
  readonly build: (version: number) => Promise<RouteTable>
  /** Calls `reload` at each change, and returns a function that stops this. `undefined` without the option `watch`. */
  readonly watch: ((reload: () => Promise<void>) => () => void) | undefined
}

/** The maximum time for which `ready` and `close` wait for a listener, in milliseconds. */
const LISTENER_MS = 30_000

/**
 * Controls the load, the reloads and the end of an application. The README of the package has a diagram of the states. The load
 * does not depend on `close`. A closed application still loads its controllers and answers requests. `close` only stops watching
 * files.
 */
export class Lifecycle {
  readonly #options: LifecycleOptions
  #load: LoadState = 'new'
  #watch: WatchState = 'waiting'
  /** The result of the load. `undefined` in the state `new`. */
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

  /** Loads the controllers once, and waits for the listeners of `ready`. @throws the error of `build`, to later callers too */
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
    // `close` may have been called during the load. A watch that started after it would never end.
    if (this.#watch === 'watching') this.#unwatch = watch(() => this.#reload())
  }

  /** Keeps the old table if the new table cannot be built. Only the reload that started last takes effect. */
  async #reload(): Promise<void> {
    const { core, build } = this.#options
    const version = nextVersion()
    this.#newest = version
    this.#watch = NEXT_WATCH[this.#watch].changed
    const built = await build(version).then(
      (table) => ({ table }),
      (error: unknown) => ({ error }),
    )
    // Drop the result after a later reload or `close`. Listeners of `ready` must not run after listeners of `close`.
    if (version !== this.#newest || this.#watch !== 'reloading') return
    this.#watch = NEXT_WATCH[this.#watch].reloaded
    if ('error' in built) return core.log(built.error, 'the controllers stay as they were')
    core.table = built.table
    core.listeners.emit('ready')
  }

  /** Stops watching files. Resolves when the listeners of `close` have ended. */
  async close(): Promise<void> {
    this.#watch = NEXT_WATCH[this.#watch].closed
    this.#unwatch?.()
    await this.#options.core.listeners.emitAndWait('close', LISTENER_MS)
  }
}
