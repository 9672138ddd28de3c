import { type Answer, toResponse } from './answers/answer.ts'
import { errorEnvelope } from './answers/error-answer.ts'
import { answerRequest } from './calls/answer-request.ts'
import { consoleLog, type Log } from './config/log.ts'
import { type ApplicationOptions, readOptions } from './config/options.ts'
import type { Core } from './core.ts'
import { buildTable } from './discovery/build-table.ts'
import { emptyTable } from './discovery/growing-table.ts'
import { followImports } from './discovery/import-graph.ts'
import { loadModules } from './discovery/load-modules.ts'
import { watchModules } from './discovery/watch.ts'
import { CallError } from './errors.ts'
import { type ApplicationEvents, type Listener, Listeners } from './events.ts'
import { type FastifyPlugin, fastifyPlugin } from './interfaces/fastify.ts'
import { FetchIncoming } from './interfaces/fetch.ts'
import { type InjectedRequest, toIncoming } from './interfaces/inject.ts'
import { asNode, NodeIncoming, sendToNode } from './interfaces/node.ts'
import type { NodeListener } from './interfaces/node-listener.ts'
import { Lifecycle, type LoadState } from './lifecycle.ts'
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

/** The answer while the controllers cannot be loaded. */
const unavailable: Answer = {
  status: 500,
  headers: ['content-type', 'application/json; charset=utf-8'],
  body: JSON.stringify(errorEnvelope(new CallError())),
}

function isPrefixes(given: object | string): given is Prefixes {
  return typeof given === 'string' || Array.isArray(given) || given instanceof URL
}
