import { type Answer, errorBody, errorEnvelope, isFault, toCallError } from '../answers/answer.ts'
import { RawJson } from '../answers/raw-json.ts'
import { isWebResponse, ResponseState } from '../answers/response-state.ts'
import {
  type Arguments,
  emptyKeywords,
  KEYWORDS_MAX,
  type Keywords,
  noKeywords,
  tooManyKeywords,
} from '../binding/keywords.ts'
import { type DecodedBody, decodeBody } from '../body/decode-body.ts'
import { Controller } from '../controller.ts'
import type { Core } from '../core.ts'
import { PROBLEM_TEXTS } from '../error-texts.ts'
import { CallError, CallStop, Forbidden, MethodNotAllowed, NotFound, NotImplemented } from '../errors.ts'
import { FailedCheck } from '../guards/auth.ts'
import type { Guard, GuardContext } from '../guards/guard.ts'
import { EndpointRequest } from '../request/endpoint-request.ts'
import type { Incoming } from '../request/incoming.ts'
import { patternOf } from '../routing/pattern.ts'
import { type Found, type Resolution, resolve } from '../routing/resolve.ts'
import type { Route, RouteTable } from '../routing/table.ts'
import { parseTarget, type Target } from '../routing/target.ts'
import { allowedVerbs, VERBS } from '../routing/verbs.ts'
import { type Call, encodeCall, endpointOf, report } from './encode-call.ts'

/** Answers a request. Never rejects, because errors become answers. */
export async function answerRequest(core: Core, incoming: Incoming): Promise<Answer> {
  const response = new ResponseState()
  const { target, resolution, failure } = locate(core, incoming)
  const found = resolution?.verdict === 'found' ? resolution : undefined
  const request = new EndpointRequest(core, incoming, response, { target, found })
  const call: Call = { core, incoming, target, resolution, request, response, controller: undefined }
  core.listeners.emit('request', request)
  let answer: Answer
  try {
    answer = await answerCall(call, failure)
  } catch (thrown) {
    answer = await answerThrown(call, thrown)
  }
  core.listeners.emit('route', request, answer.status)
  return answer
}

interface Location {
  readonly target: Target
  readonly resolution?: Resolution
  /** The error if the target cannot be parsed. */
  readonly failure?: unknown
}

function locate({ settings, table }: Core, { method, target: raw, mountDepth }: Incoming): Location {
  try {
    const target = parseTarget(raw, settings)
    const parts = mountDepth === 0 ? target.parts : target.parts.slice(mountDepth)
    return { target, resolution: resolve(table.root, method, parts, settings.canonicalPart) }
  } catch (failure) {
    return { target: { path: raw, parts: [], query: '' }, failure }
  }
}

function answerCall(call: Call, failure: unknown): Answer | Promise<Answer> {
  const { core, incoming, request, response, resolution } = call
  const endpoint = endpointOf(resolution)
  const cors = endpoint === undefined ? core.settings.cors : endpoint.cors
  const origin = cors && incoming.header('origin')
  cors?.apply(origin, response)
  if (incoming.method === 'OPTIONS' && incoming.target === '*') return answerOptions(call, verbsOf(core.table))
  if (resolution === undefined) throw failure
  if (resolution.verdict === 'not-implemented') throw new NotImplemented()
  if (resolution.verdict === 'not-found') throw new NotFound(hintAt(core, resolution.longer))
  const isPreflight = incoming.method === 'OPTIONS' && incoming.header('access-control-request-method') !== undefined
  if (resolution.verdict === 'found' && !(origin && isPreflight)) {
    if (incoming.refusal !== undefined) throw incoming.refusal
    return callHandler(call, resolution)
  }
  const allow = allowedVerbs(resolution.endpoint, resolution.positionals.length)
  if (origin && isPreflight) {
    cors?.preflight({ origin, requestedHeaders: request.header('access-control-request-headers'), allow }, response)
  } else if (resolution.verdict === 'not-allowed') {
    throw new MethodNotAllowed(allow)
  }
  return answerOptions(call, allow)
}

/** A hint for a 404 in development: the URL with more positionals. `POST(body)` may be meant to take the body. */
function hintAt({ settings }: Core, longer: Route | undefined): string | undefined {
  if (longer === undefined || !settings.development) return undefined
  const { verb, binding } = longer
  return PROBLEM_TEXTS.nothingHere({ verb, pattern: patternOf(longer, binding.min) })
}

function answerOptions(call: Call, allow: readonly string[]): Answer | Promise<Answer> {
  call.response.headers.set('allow', allow.join(', '))
  return encodeCall(call, undefined)
}

/** Returns the verbs that at least one URL accepts. */
function verbsOf({ endpoints }: RouteTable): readonly string[] {
  const taken = new Set<string>(endpoints.flatMap(({ routes }) => [...routes.keys()]))
  if (taken.has('ANY')) return VERBS
  return VERBS.filter((verb) => taken.has(verb) || verb === 'OPTIONS' || (verb === 'HEAD' && taken.has('GET')))
}

/** Converts a thrown value to an answer. Never rejects. */
async function answerThrown(call: Call, thrown: unknown): Promise<Answer> {
  const { core, response } = call
  response.reset()
  try {
    const answer = thrown instanceof CallStop ? await answerStop(call, thrown) : await answerError(call, thrown)
    if (thrown instanceof FailedCheck) report(call, thrown.cause)
    else if (isFault(answer.status) && !(thrown instanceof CallStop)) report(call, thrown)
    return answer
  } catch (error) {
    // `onError` threw an error or returned a value that cannot be sent. Answer with a new response.
    report(call, error)
    const afresh = { ...call, response: new ResponseState() }
    return encodeError(afresh, toCallError(error, core.settings), errorEnvelope)
  }
}

function answerStop(call: Call, { status, body, headers }: CallStop): Answer | Promise<Answer> {
  setHeaders(call, headers)
  call.response.status = status
  return encodeCall(call, body)
}

async function answerError(call: Call, thrown: unknown): Promise<Answer> {
  const { response, request, core } = call
  response.status = thrown instanceof CallError ? thrown.status : 500
  const value = await answerTo(call, thrown)
  if (value instanceof CallStop) return answerStop(call, value)
  if (value !== thrown && !(value instanceof Error)) return encodeCall(call, value)
  const error = toCallError(value, core.settings)
  return encodeError(call, error, () => errorBody(error, request, core.settings))
}

/** Calls `onError` of the controller. If it returns an error, calls `onError` of the application. */
async function answerTo(call: Call, thrown: unknown): Promise<unknown> {
  const { onError } = call.core.settings
  const value = (await controllerOf(call)?.onError(thrown)) ?? thrown
  if (onError === undefined || (value !== thrown && !(value instanceof Error))) return value
  return (await onError(value, call.request)) ?? value
}

function encodeError(call: Call, error: CallError, toBody: (error: CallError) => unknown): Answer | Promise<Answer> {
  setHeaders(call, error.headers)
  call.response.status = error.status
  return encodeCall(call, toBody(error))
}

/** Returns the controller of the call. Creates it if the error occurred before. */
function controllerOf(call: Call): Controller | undefined {
  if (call.controller !== undefined) return call.controller
  const controller = endpointOf(call.resolution)?.controller
  return controller && new controller(call.request, call.response)
}

function setHeaders({ response }: Call, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
}

/**
 * Runs the guards, binds the arguments and calls the handler (reference: Order of work). Guards run first, so a refused client
 * causes no parsing and gets no information about validation.
 * @throws Forbidden if a guard refuses, CallError for an unknown version, and all errors of guards, binding and handler
 */
async function callHandler(call: Call, found: Found): Promise<Answer> {
  const { request, response } = call
  const { route } = found
  if (route.versions !== undefined) checkVersion(call, route.versions)
  if (route.guards.early.length > 0) await runGuards(route.guards.early, { request, response, args: undefined })
  const binding = bindCall(call, found)
  const args = binding instanceof Promise ? await binding : binding
  if (route.guards.bound.length > 0) await runGuards(route.guards.bound, { request, response, args })
  const controller = new route.controller(request, response)
  call.controller = controller
  // Check the instance instead of its class. A hook may be a field, and a hook that protects a handler must never be skipped.
  if (controller.before !== Controller.prototype.before) await controller.before()
  let value = route.method.call(controller, ...args)
  if (isThenable(value)) value = await value
  if (controller.after !== Controller.prototype.after) value = await controller.after(value)
  if (value instanceof Error) throw value
  if (call.core.settings.development && sendsReturned(call, value)) await checkReturned(route, value)
  return encodeCall(call, value, route)
}

async function runGuards(guards: readonly Guard[], context: GuardContext): Promise<void> {
  for (const guard of guards) {
    if ((await guard(context)) === false) throw new Forbidden()
  }
}

function checkVersion({ request }: Call, versions: readonly string[]): void {
  const version = request.version()
  if (version !== '' && !versions.includes(version)) throw new CallError(406)
}

/** Returns whether the return value of a handler is the answer that the handler declares. */
function sendsReturned({ response, incoming }: Call, value: unknown): boolean {
  // A handler that sets a status and returns nothing sends another answer, for example 304.
  if (value === undefined && response.status !== undefined) return false
  // If the handler has already answered through the server's own response, its return value is not sent.
  return !incoming.isAnswered()
}

/** Throws in development if a handler returns a value that it does not declare, so that the OpenAPI document stays correct. */
async function checkReturned({ returns, className, handler }: Route, value: unknown): Promise<void> {
  if (returns === undefined || isWebResponse(value) || isStreamed(value)) return
  const { error } = await returns.safeParseAsync(value instanceof RawJson ? JSON.parse(value.text) : value)
  if (error === undefined) return
  const faults = error.issues.map(({ path, message }) => `${path.map(String).join('.') || 'the value'}: ${message}`)
  throw new TypeError(`${className}.${handler} returned what it does not declare: ${faults.join('; ')}`)
}

/** Returns whether a value is a stream. A stream cannot be checked before it is sent. */
function isStreamed(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}

/** Creates the arguments of the handler from path, query and body. @throws CallError if the query or the body is invalid */
function bindCall(call: Call, { route, positionals }: Found): Arguments | Promise<Arguments> {
  const query = call.target.query === '' ? noKeywords : call.request.query
  const reading = readBody(call, route)
  if (reading === undefined) return route.binding.bind(positionals, query)
  return reading.then((body) => {
    const all = body.positionals === undefined ? positionals : [...positionals, ...body.positionals]
    return route.binding.bind(all, merge(query, body.keywords))
  })
}

/** Returns `undefined` if no body is read. Bodies of GET and HEAD have no meaning. */
function readBody(
  { incoming, core }: Call,
  { binding, bodyBytesMax, multipart, absentIfEmpty }: Route,
): Promise<DecodedBody> | undefined {
  if (incoming.method === 'GET' || incoming.method === 'HEAD' || binding.body === 'raw') return undefined
  const { body } = incoming
  if (body === undefined) return undefined
  return decodeBody(body, {
    use: binding.body,
    bytesMax: bodyBytesMax,
    json: core.settings.json,
    multipart,
    absentIfEmpty,
    contentType: incoming.header('content-type'),
    contentEncoding: incoming.header('content-encoding'),
  })
}

/** Merges the keywords of query and body. The body takes precedence. */
function merge(query: Readonly<Keywords>, body: Keywords | undefined): Readonly<Keywords> {
  if (body === undefined) return query
  const keywords: Keywords = Object.assign(emptyKeywords(), query, body)
  if (Object.keys(keywords).length > KEYWORDS_MAX) throw tooManyKeywords()
  return keywords
}
