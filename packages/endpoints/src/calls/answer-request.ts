import type { Answer } from '../answers/answer.ts'
import { ResponseState } from '../answers/response-state.ts'
import type { Core } from '../core.ts'
import { PROBLEM_TEXTS } from '../error-texts.ts'
import { MethodNotAllowed, NotFound, NotImplemented } from '../errors.ts'
import { EndpointRequest } from '../request/endpoint-request.ts'
import type { Incoming } from '../request/incoming.ts'
import { patternOf } from '../routing/pattern.ts'
import { type Resolution, resolve } from '../routing/resolve.ts'
import type { Route, RouteTable } from '../routing/table.ts'
import { parseTarget, type Target } from '../routing/target.ts'
import { allowedVerbs, VERBS } from '../routing/verbs.ts'
import { answerThrown } from './answer-thrown.ts'
import { type Call, endpointOf } from './call.ts'
import { callHandler } from './call-handler.ts'
import { encodeCall } from './encode-call.ts'

/** Answers a request. Never rejects: an error becomes an answer. */
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
  /** Why the target cannot be read. */
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

/** In development, a 404 names the URL with more positionals: the author of `POST(body)` may have meant the body. */
function hintAt({ settings }: Core, longer: Route | undefined): string | undefined {
  if (longer === undefined || !settings.development) return undefined
  const { verb, binding } = longer
  return PROBLEM_TEXTS.nothingHere({ verb, pattern: patternOf(longer, binding.min) })
}

function answerOptions(call: Call, allow: readonly string[]): Answer | Promise<Answer> {
  call.response.headers.set('allow', allow.join(', '))
  return encodeCall(call, undefined)
}

/** The verbs that any URL takes. */
function verbsOf({ endpoints }: RouteTable): readonly string[] {
  const taken = new Set<string>(endpoints.flatMap(({ routes }) => [...routes.keys()]))
  if (taken.has('ANY')) return VERBS
  return VERBS.filter((verb) => taken.has(verb) || verb === 'OPTIONS' || (verb === 'HEAD' && taken.has('GET')))
}
