import formbody from '@fastify/formbody'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { badJson } from '../errors.ts'
import { checkStrings, decodeUtf8, FEW_MEMBERS, FIELDS_MAX, parseJson } from '../parse-json.ts'

/** Of people who are no admins. Routes that take metadata, of up to 64 KiB in its shortest spelling, say more. */
export const SMALL_BODY_BYTES = 65_536

/**
 * Bodies are JSON whatever the content type says; an empty one is none. Routes that list `forms: true` in their config
 * take form bodies too. Queries and path parameters are checked for the same characters (reference: Request bodies).
 */
export const jsonBody = fp(
  async (app: FastifyInstance) => {
    app.removeAllContentTypeParsers()
    app.addHook('onRequest', async (request) => {
      // A content type that is none would be refused before any parser is asked.
      if (request.headers['content-type'] !== undefined && !isForm(request)) {
        request.headers['content-type'] = 'application/json'
      }
    })
    app.addContentTypeParser('*', { parseAs: 'buffer' }, async ({ routeOptions }: FastifyRequest, body: Buffer) => {
      const hasLittleToSay = (routeOptions.bodyLimit ?? Number.POSITIVE_INFINITY) <= SMALL_BODY_BYTES
      return parseBody(decodeUtf8(body), hasLittleToSay ? FEW_MEMBERS : undefined)
    })
    await app.register(formbody, { parser: parseForm })
    app.addHook('preValidation', async (request) => {
      request.query = normaliseQuery(request.query)
      checkStrings(request.params)
    })
  },
  { name: 'json-body' },
)

/** Whether a request brings a form body to a route that takes one. */
export function isForm(request: FastifyRequest): boolean {
  if (!request.routeOptions.config.forms) return false
  return /^application\/x-www-form-urlencoded\b/i.test(request.headers['content-type'] ?? '')
}

/**
 * Of a field that is given twice the last counts.
 * @throws badJson, validationFailed
 */
function parseForm(text: string): Record<string, string> {
  // @fastify/formbody writes U+FFFD for bytes that are not UTF-8, and nothing else of a form needs a raw one.
  if (text.includes('\uFFFD'))
    throw badJson({ message: 'Could not parse request body as a form: the body is not UTF-8' })
  if (text.split('&', FIELDS_MAX + 1).length > FIELDS_MAX) {
    throw badJson({ message: `Could not parse request body as a form: more than ${FIELDS_MAX} fields` })
  }
  return checkStrings(Object.fromEntries(new URLSearchParams(text)))
}

/** A body `null` counts as an object without members, as a member `null` counts as absent. */
function parseBody(text: string, membersMax: number | undefined): Record<string, unknown> | undefined {
  return text.trim() === 'null' ? {} : parseJson(text, membersMax)
}

/** Of a parameter that is given twice the first counts; an empty one counts as absent. */
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
    /** Whether the route takes form bodies beside JSON. */
    forms?: boolean
  }
}
