import { type Answer, toResponse } from './answers/answer.ts'
import { errorEnvelope } from './answers/error-answer.ts'
import { answerRequest } from './calls/answer-request.ts'
import { consoleLog, type Log } from './config/log.ts'
import { type ApplicationOptions, readOptions } from './config/options.ts'
import type { ControllerApplication, ListedRoute, ResolvedPath } from './controller-application.ts'
import type { Core } from './core.ts'
import { buildTable } from './discovery/build-table.ts'
import { emptyTable } from './discovery/growing-table.ts'
import { followImports, nextVersion } from './discovery/import-graph.ts'
import { loadModules } from './discovery/load-modules.ts'
import { watchModules } from './discovery/watch.ts'
import { CallError } from './errors.ts'
import { type ApplicationEvents, type Listener, Listeners } from './events.ts'
import { type FastifyPlugin, fastifyPlugin } from './interfaces/fastify.ts'
import { FetchIncoming } from './interfaces/fetch.ts'
import { type InjectedRequest, injectedRequest } from './interfaces/inject.ts'
import { asNode, NodeIncoming, sendToNode } from './interfaces/node.ts'
import type { NodeListener } from './interfaces/node-listener.ts'
import { buildDocument, packageInfo } from './openapi/document.ts'
import type { OpenApiDocument } from './openapi/document-types.ts'
import type { Incoming } from './request/incoming.ts'
import { listRoutes, resolvePath } from './routing/resolve.ts'
import type { RouteTable } from './routing/table.ts'

type Prefixes = NonNullable<ApplicationOptions['controllerPrefix']>

/** Controllers and the ways to serve them. Nothing is loaded before `ready` is called or a request comes. */
export class Application<Context = unknown> implements ControllerApplication<Context> {
  /** What was given to the constructor for the controllers. */
  readonly context: Context
  readonly #options: ApplicationOptions<Context>
  readonly #core: Core
  /** Takes warnings and unexpected errors. */
  readonly log: Log
  readonly #log: Log
  readonly #listeners = new Listeners((error, message) => this.#core.log(error, message))
  #loading: Promise<void> | undefined
  /** The controllers are loaded, and the first listeners of `ready` have ended. */
  #serving = false
  #unwatch: (() => void) | undefined
  #version = 0
  /** Prefixes of the Fastify servers that it answers in. */
  readonly #mounts = new Set<string>()

  /** @throws Error for options that do not go together. */
  constructor(given: Prefixes | ApplicationOptions<Context> = {}) {
    const options: ApplicationOptions<Context> = isPrefixes(given) ? { controllerPrefix: given } : given
    this.#options = options
    this.context = options.context as Context
    this.log = options.log ?? consoleLog
    this.#log = surviving(this.log)
    this.#core = {
      application: this,
      settings: readOptions(options),
      table: emptyTable,
      log: this.#log.error,
      listeners: this.#listeners,
    }
  }

  /**
   * Loads the controllers, once, and waits for the listeners of `ready`.
   * @throws Error when one cannot be imported, or says what cannot be served; nothing is then served.
   */
  ready(): Promise<this> {
    this.#loading ??= this.#start()
    return this.#loading.then(() => this)
  }

  async #start(): Promise<void> {
    // Imports are followed from the first on, so that edits of all of them are noticed.
    if (this.#options.watch) followImports(() => {})
    this.#core.table = await this.#build(0)
    await this.#listeners.tellAndWait('ready', LIFECYCLE_MS)
    this.#serving = true
    if (!this.#options.watch) return
    this.#unwatch = watchModules({
      sources: this.#options,
      warn: this.#log.warn,
      reload: () => this.#reload(),
    })
  }

  /** The old table stays where a new one cannot be made. Of several loads at once the last begun counts. */
  async #reload(): Promise<void> {
    const version = nextVersion()
    this.#version = version
    try {
      const table = await this.#build(version)
      if (version !== this.#version) return
      this.#core.table = table
      this.#listeners.tell('ready')
    } catch (error) {
      if (version === this.#version) this.#core.log(error, 'the controllers stay as they were')
    }
  }

  async #build(version: number): Promise<RouteTable> {
    const table = buildTable(await loadModules(this.#options, version), this.#core.settings)
    for (const warning of table.warnings) this.#log.warn(warning)
    return table
  }

  /** What the interfaces call. It never rejects. */
  readonly answer = (incoming: Incoming): Promise<Answer> => {
    if (this.#serving) return answerRequest(this.#core, incoming)
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
      sendToNode(response, await this.answer(new NodeIncoming(request, response)), this.#core.settings.writeTimeout)
    } catch (error) {
      // A header that this version of HTTP does not take, for instance: one request ends, not the server.
      response.destroy()
      this.#core.log(error, 'an answer cannot be sent')
    }
  }

  /** The web standard's form, for every server that takes a fetch handler: `export default app`. */
  readonly fetch = async (request: Request, ...extra: readonly unknown[]): Promise<Response> =>
    toResponse(await this.answer(new FetchIncoming(request, extra)))

  /** The fetch handler by itself, for servers that call a factory. */
  readonly factory = (): this['fetch'] => this.fetch

  /** For `fastify.register(app.fastify, { prefix })`. */
  readonly fastify: FastifyPlugin = fastifyPlugin(this, (prefix) => void this.#mounts.add(prefix))

  /** Answers a request without a server. */
  async inject(request: InjectedRequest): Promise<Response> {
    const incoming = await injectedRequest(request)
    // A listener of `ready` may try the application: it must not wait for itself.
    return toResponse(await (this.#isLoaded ? answerRequest(this.#core, incoming) : this.answer(incoming)))
  }

  /** Every handler, in the order of the URLs. @throws Error before `ready`. */
  routes(): readonly ListedRoute[] {
    return listRoutes(this.#loadedCore().table)
  }

  /** Where a request would go. @throws Error before `ready`. */
  resolve(method: string, path: string): ResolvedPath {
    const { table, settings } = this.#loadedCore()
    return resolvePath(table, { method, path }, settings)
  }

  /** The OpenAPI 3.1 document of all handlers that are not hidden, below the prefix in Fastify. @throws Error before `ready`. */
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
    return this.#core.table !== emptyTable
  }

  /** Calls `listener` at each such event. What it throws or rejects with is logged, and stops nothing. */
  on<E extends keyof ApplicationEvents>(event: E, listener: Listener<E>): this {
    this.#listeners.add(event, listener)
    return this
  }

  /** Resolves when the listeners of `close` have ended. Servers are closed by who made them. */
  async close(): Promise<void> {
    this.#unwatch?.()
    await this.#listeners.tellAndWait('close', LIFECYCLE_MS)
  }
}

/** How long the start and the end wait for a listener. */
const LIFECYCLE_MS = 30_000

/** A log that cannot throw: a failure to write a line must not end a request, and with it the process. */
function surviving(log: Log): Log {
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
