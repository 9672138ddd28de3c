import type { Answer } from '../answers/answer.ts'
import { RawJson } from '../answers/raw-json.ts'
import { isWebResponse } from '../answers/web-response.ts'
import type { Arguments } from '../binding/binding.ts'
import { emptyKeywords, KEYWORDS_MAX, type Keywords, noKeywords, tooManyKeywords } from '../binding/keywords.ts'
import { type DecodedBody, decodeBody } from '../body/decode-body.ts'
import { Controller } from '../controller.ts'
import { CallError, Forbidden } from '../errors.ts'
import type { Guard, GuardContext } from '../guards/guard.ts'
import type { Found } from '../routing/resolve.ts'
import type { Route } from '../routing/table.ts'
import type { Call } from './call.ts'
import { encodeCall } from './encode-call.ts'

/**
 * Runs the guards, binds the arguments and calls the handler (reference: Order of work). Guards run first, so
 * a refused client costs no parsing and learns nothing about validation.
 * @throws Forbidden when a guard refuses, CallError for an unknown version, and what guards, binding and handler throw
 */
export async function callHandler(call: Call, found: Found): Promise<Answer> {
  const { request, response } = call
  const { route } = found
  if (route.versions !== undefined) checkVersion(call, route.versions)
  if (route.guards.early.length > 0) await runGuards(route.guards.early, { request, response, args: undefined })
  const binding = bindCall(call, found)
  const args = binding instanceof Promise ? await binding : binding
  if (route.guards.bound.length > 0) await runGuards(route.guards.bound, { request, response, args })
  const controller = new route.controller(request, response)
  call.controller = controller
  // Look at the instance and not at its class: a hook may be a field, and a hook that guards must never be skipped.
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

/** Whether what a handler returned is the answer that it declares. */
function sendsReturned({ response, incoming }: Call, value: unknown): boolean {
  // A handler that sets a status and returns nothing answers something else, for example 304.
  if (value === undefined && response.status !== undefined) return false
  // What a handler returns is not sent after it has answered through the response of the server.
  return !incoming.isAnswered()
}

/** In development, a handler that breaks its own declaration fails, so that the document stays correct. */
async function checkReturned({ returns, className, handler }: Route, value: unknown): Promise<void> {
  if (returns === undefined || isWebResponse(value) || isStreamed(value)) return
  const { error } = await returns.safeParseAsync(value instanceof RawJson ? JSON.parse(value.text) : value)
  if (error === undefined) return
  const faults = error.issues.map(({ path, message }) => `${path.map(String).join('.') || 'the value'}: ${message}`)
  throw new TypeError(`${className}.${handler} returned what it does not declare: ${faults.join('; ')}`)
}

/** A stream cannot be checked before it is sent. */
function isStreamed(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}

/** Makes the arguments of the handler from path, query and body. @throws CallError */
function bindCall(call: Call, { route, positionals }: Found): Arguments | Promise<Arguments> {
  const query = call.target.query === '' ? noKeywords : call.request.query
  const reading = readBody(call, route)
  if (reading === undefined) return route.binding.bind(positionals, query)
  return reading.then((body) => {
    const all = body.positionals === undefined ? positionals : [...positionals, ...body.positionals]
    return route.binding.bind(all, merge(query, body.keywords))
  })
}

/** Undefined when no body is read. Bodies of GET and HEAD have no meaning. */
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

/** The body wins over the query, key by key. */
function merge(query: Readonly<Keywords>, body: Keywords | undefined): Readonly<Keywords> {
  if (body === undefined) return query
  const keywords: Keywords = Object.assign(emptyKeywords(), query, body)
  if (Object.keys(keywords).length > KEYWORDS_MAX) throw tooManyKeywords()
  return keywords
}
