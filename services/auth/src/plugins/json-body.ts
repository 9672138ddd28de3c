import formbody from '@fastify/formbody'
import { encodesUtf8 } from '@trestle/common/server/encodes-utf8.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { formFieldRepeated, formNotUtf8, malformedRequest, tooManyFormFields } from '../request-errors.ts'
import { checkStrings, decodeUtf8, FEW_MEMBERS, FIELDS_MAX, parseJson } from '../requests/parse-json.ts'
import type { MetadataRules } from '../users/metadata.ts'

/** The greatest body limit of any route, in bytes. */
export const BODY_BYTES_MAX = 1_048_576
/** The body limit for clients who are not admins. Routes with metadata have a higher one. */
export const SMALL_BODY_BYTES_MAX = 65_536

const METADATA_BODY_BYTES_MIN = 262_144

/** The limit of a body with metadata. It exceeds the metadata limit, so that large metadata get their own error. */
export function metadataBodyBytesMax({ compatibility }: MetadataRules): number {
  return Math.min(Math.max(4 * compatibility.metadataBytesMax, METADATA_BODY_BYTES_MIN), BODY_BYTES_MAX)
}

/** The media types of routes that also accept forms, for the API document. */
export const JSON_AND_FORMS = ['application/json', 'application/x-www-form-urlencoded']

/**
 * Parses bodies as JSON whatever their content type is. An empty body means no body. Routes with `forms: true` in their config
 * also accept forms. Checks queries and path parameters for the same characters (reference: Request bodies).
 */
export const jsonBody = fp(
  async (app: FastifyInstance) => {
    app.removeAllContentTypeParsers()
    app.addHook('onRequest', async (request) => {
      // Otherwise Fastify rejects an invalid content type before it calls a parser.
      if (request.headers['content-type'] !== undefined && !isForm(request)) {
        request.headers['content-type'] = 'application/json'
      }
    })
    app.addContentTypeParser('*', { parseAs: 'buffer' }, async ({ routeOptions }: FastifyRequest, body: Buffer) => {
      const isSmallBody = (routeOptions.bodyLimit ?? Number.POSITIVE_INFINITY) <= SMALL_BODY_BYTES_MAX
      return parseBody(decodeUtf8(body), isSmallBody ? FEW_MEMBERS : undefined)
    })
    await app.register(formbody, { parser: parseForm })
    app.addHook('preValidation', async (request) => {
      if (!encodesUtf8(request.url)) throw malformedRequest()
      request.query = normaliseQuery(request.query)
      checkStrings(request.params)
    })
  },
  { name: 'json-body' },
)

/** Whether a request has a form body and its route accepts forms. */
export function isForm(request: FastifyRequest): boolean {
  if (!request.routeOptions.config.forms) return false
  return /^application\/x-www-form-urlencoded\b/i.test(request.headers['content-type'] ?? '')
}

/** Parses a form body. Rejects repeated fields, because programs use different values of them (RFC 6749, 3.2). */
function parseForm(text: string): Record<string, string> {
  // @fastify/formbody replaces bytes that are not UTF-8 by U+FFFD. A form percent-encodes a real U+FFFD.
  if (text.includes('\uFFFD') || !encodesUtf8(text)) throw formNotUtf8()
  if (text.split('&', FIELDS_MAX + 1).length > FIELDS_MAX) throw tooManyFormFields({ max: FIELDS_MAX })
  const fields = new URLSearchParams(text)
  if (new Set(fields.keys()).size < fields.size) throw formFieldRepeated()
  return checkStrings(Object.fromEntries(fields))
}

/** Parses a body. `null` means an empty object, as a member `null` means no member. */
function parseBody(text: string, membersMax: number | undefined): Record<string, unknown> | undefined {
  return text.trim() === 'null' ? {} : parseJson(text, membersMax)
}

/** Returns the first value of each query parameter. An empty parameter counts as absent. */
function normaliseQuery(query: unknown): Record<string, string> {
  const normal: Record<string, string> = {}
  for (const [name, value] of Object.entries(query ?? {})) {
    const first: unknown = Array.isArray(value) ? value[0] : value
    if (typeof first === 'string' && first !== '') normal[name] = first
  }
  return checkStrings(normal)
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route accepts forms in addition to JSON. */
    forms?: boolean
  }
}
