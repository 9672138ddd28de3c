import type { FastifyBaseLogger } from 'fastify'
import type { Bindings, ChildLoggerOptions } from 'pino'

type Arguments = readonly unknown[]

/**
 * The logger of one request, whose lines contain its id. It makes a child of the server's logger when it is first used: most
 * requests write no lines of their own, so most children would be made for nothing.
 */
export class RequestLog {
  readonly #parent: FastifyBaseLogger
  readonly #bindings: Bindings
  #made: FastifyBaseLogger | undefined

  constructor(parent: FastifyBaseLogger, bindings: Bindings) {
    this.#parent = parent
    this.#bindings = bindings
  }

  get level(): string {
    return this.#parent.level
  }

  fatal(...line: Arguments): void {
    this.#write('fatal', line)
  }

  error(...line: Arguments): void {
    this.#write('error', line)
  }

  warn(...line: Arguments): void {
    this.#write('warn', line)
  }

  info(...line: Arguments): void {
    this.#write('info', line)
  }

  debug(...line: Arguments): void {
    this.#write('debug', line)
  }

  trace(...line: Arguments): void {
    this.#write('trace', line)
  }

  silent(): void {}

  child(bindings: Bindings, options?: ChildLoggerOptions): FastifyBaseLogger {
    return this.#own().child(bindings, options)
  }

  #write(level: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace', line: Arguments): void {
    const own = this.#own()
    Reflect.apply(own[level], own, line)
  }

  #own(): FastifyBaseLogger {
    this.#made ??= this.#parent.child(this.#bindings)
    return this.#made
  }
}
