import type { HttpError } from '@trestle/common/errors/define-error.ts'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import type { TestApp, TestAppOptions } from '../auth-app.ts'
import type { MailApp } from '../mail-app.ts'

/** The services and objects for cases. */
export interface World {
  /** The service with these settings and replaced dependencies. Cases with the same settings share a service. */
  service(settings?: Readonly<Record<string, string>>, replace?: TestAppOptions['replace']): Promise<MailApp>
  /** A service with routes that fail on request, and which verifies no password in time. */
  failing(): Promise<TestApp>
  /** A service with a named defect. */
  broken(name: string, replace: TestAppOptions['replace']): Promise<TestApp>
}

/** Sends a request in one of the two API versions. */
export type Send = (service: TestApp, request: InjectOptions) => Promise<LightMyRequestResponse>

/** A way to raise an error: a request, and the text in its response. */
export interface ErrorCase {
  /** The operation, if several operations share the error, such as `get /user`. */
  readonly operation?: string
  /** Default: the text of the catalogue. */
  readonly text?: string | RegExp
  /** The error, if its status and text differ from the catalogue. */
  readonly expected?: HttpError
  /** Additional members of the body. */
  readonly details?: Readonly<Record<string, unknown>>
  /** The RFC 6749 error in responses of `POST /token`. */
  readonly oauth?: string
  /** The RFC 6749 error, if `/callback` reports it in a redirect instead of a body. */
  readonly redirected?: string
  /** Whether the redirect reports the error only in its fragment. */
  readonly inFragment?: boolean
  /** Two calls run at the same time, so neither may depend on state that the other leaves behind. */
  raise(world: World, send: Send): Promise<LightMyRequestResponse>
}

/** The cases for each error, by its name in `errors.ts`. */
export type ErrorCases = Readonly<Record<string, readonly ErrorCase[]>>

export const get = (url: string, headers: Record<string, string> = {}) => ({ url, headers })
/** A POST request. A text payload is sent unchanged. */
export const post = (url: string, payload: object | string, headers: Record<string, string> = {}) => ({
  method: 'POST' as const,
  url,
  payload,
  headers,
})
