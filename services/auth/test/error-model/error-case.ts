import type { HttpError } from '@trestle/common/errors/define-error.ts'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import type { TestApp, TestAppOptions } from '../auth-app.ts'
import type { MailApp } from '../mail-app.ts'

/** The services and objects that a case may use. */
export interface World {
  /** The service with these settings and dependencies in the place of others; one for all cases that want the same settings. */
  service(settings?: Readonly<Record<string, string>>, replace?: TestAppOptions['replace']): Promise<MailApp>
  /** A service whose routes fail as the request asks, and which verifies no password in time. */
  failing(): Promise<TestApp>
  /** A service that is broken in some way, by the name of the way. */
  broken(name: string, replace: TestAppOptions['replace']): Promise<TestApp>
}

/** Sends a request in one of the two versions. */
export type Send = (service: TestApp, request: InjectOptions) => Promise<LightMyRequestResponse>

/** One way to an error: the text that a client reads, and a request that raises it. */
export interface ErrorCase {
  /** The operation of an error that several operations share, such as `get /user`. */
  readonly operation?: string
  /** Default: the text of the catalogue. */
  readonly text?: string | RegExp
  /** The error, where neither its status nor its text is that of the catalogue. */
  readonly expected?: HttpError
  /** Members of the body beside those of every error. */
  readonly details?: Readonly<Record<string, unknown>>
  /** The name of RFC 6749 that failures of POST /token carry. */
  readonly oauth?: string
  /** The name of RFC 6749, where the error is told in the redirect of /callback instead of in a body. */
  readonly redirected?: string
  /** Whether the redirect tells the error in its fragment alone. */
  readonly inFragment?: boolean
  /** Called twice at once: neither call may rest on what the other leaves behind. */
  raise(world: World, send: Send): Promise<LightMyRequestResponse>
}

/** The ways to each error, by its name in `errors.ts`. */
export type ErrorCases = Readonly<Record<string, readonly ErrorCase[]>>

/** A GET. */
export const get = (url: string, headers: Record<string, string> = {}) => ({ url, headers })
/** A POST. A payload that is text is sent as it is. */
export const post = (url: string, payload: object | string, headers: Record<string, string> = {}) => ({
  method: 'POST' as const,
  url,
  payload,
  headers,
})
