import type { Arguments } from '../binding/binding.ts'
import { emptyKeywords, KEYWORDS_MAX, type Keywords, noKeywords, tooManyKeywords } from '../binding/keywords.ts'
import { type DecodedBody, decodeBody } from '../body/decode-body.ts'
import type { Found } from '../routing/resolve.ts'
import type { Route } from '../routing/table.ts'
import type { Call } from './call.ts'

/** The arguments of the handler, from path, query and body. @throws CallError */
export function bindCall(call: Call, { route, positionals }: Found): Arguments | Promise<Arguments> {
  const query = call.target.query === '' ? noKeywords : call.request.query
  const reading = readBody(call, route)
  if (reading === undefined) return route.binding.bind(positionals, query)
  return reading.then((body) => {
    const all = body.positionals === undefined ? positionals : [...positionals, ...body.positionals]
    return route.binding.bind(all, merge(query, body.keywords))
  })
}

/** Undefined where none is read. The bodies of GET and HEAD mean nothing: they are not even looked for. */
function readBody(
  { incoming, core }: Call,
  { binding, bodyLimit, multipart }: Route,
): Promise<DecodedBody> | undefined {
  if (incoming.method === 'GET' || incoming.method === 'HEAD' || binding.body === 'raw') return undefined
  const { body } = incoming
  if (body === undefined) return undefined
  return decodeBody(body, {
    use: binding.body,
    limit: bodyLimit,
    json: core.settings.json,
    multipart,
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
