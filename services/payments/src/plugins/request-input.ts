import formbody from '@fastify/formbody'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { z } from 'zod'
import type { Flaw } from '../access/admit.ts'
import { parseForm } from '../bodies/parse-form.ts'
import { InvalidInput, ParsedInput, validateInput } from '../bodies/parsed-input.ts'
import { readBody } from '../bodies/read-body.ts'
import { invalidFields } from '../error-body.ts'
import { unsupportedMediaType } from '../errors.ts'

/**
 * Reads bodies (JSON and forms) and query strings (reference: Bodies and queries). What is wrong with them is noted as
 * `request.flaw` and thrown later: key, path and access are judged before values. Register before any route.
 */
export const requestInput = fp(
  async (app) => {
    app.decorateRequest('flaw')
    app.removeAllContentTypeParsers()
    app.addContentTypeParser<Buffer>('*', { parseAs: 'buffer' }, (request, body, done) => {
      done(null, takeBody(request, body))
    })
    // The parser learns nothing of the request. Its headers are judged with the text, before the body is validated.
    await app.register(formbody, { parser: (text) => ({ formText: text }) })
    app.setValidatorCompiler<z.ZodType>(
      ({ schema }) =>
        (data: unknown) =>
          validateInput(schema, data),
    )
    // With it a refused value reaches the handler as `validationError`, below turned into the flaw.
    app.addHook('onRoute', (route) => {
      route.attachValidation = true
      if (route.schema?.body) route.schema.consumes ??= ['application/json', 'application/x-www-form-urlencoded']
    })
    app.addHook('onRequest', ({ headers }, _reply, done) => {
      // Fastify answers 415 itself to a media type that it cannot read, before the key is judged.
      if (headers['content-type'] !== undefined && !MEDIA_TYPE.test(headers['content-type'])) {
        headers['content-type'] = 'application/octet-stream'
      }
      done()
    })
    app.addHook('preValidation', (request, _reply, done) => {
      const { body } = request
      if (body && !(body instanceof ParsedInput)) request.body = takeBody(request, formText.parse(body).formText)
      if (request.routeOptions.schema?.querystring) request.query = takeQuery(request)
      done()
    })
    app.addHook('preHandler', (request, _reply, done) => {
      const error = request.validationError
      if (error === undefined) return done()
      // A schema that throws has validated nothing: no handler may see the values.
      if (!(error instanceof InvalidInput)) return done(error)
      const { fields, input } = error
      request.flaw ??= { stage: 'validation', error: invalidFields(fields), fields, input }
      return done()
    })
  },
  { name: 'request-input' },
)

const MEDIA_TYPE = /^\s*[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(;|$)/

/** A form, as the library hands it over. */
const formText = z.object({ formText: z.string() })

function takeBody(request: FastifyRequest, body: Buffer | string): ParsedInput {
  const read = readBody(body, request.headers)
  if (typeof read === 'object' && 'value' in read) return read.value
  request.flaw = { stage: 'parse', error: read === 'unsupported' ? unsupportedMediaType() : invalidFields(read.errors) }
  return new ParsedInput('json', {})
}

function takeQuery(request: FastifyRequest): ParsedInput {
  const at = request.url.indexOf('?')
  const parsed = parseForm(at < 0 ? '' : request.url.slice(at + 1))
  if ('value' in parsed) return new ParsedInput('query', parsed.value)
  const fields = parsed.errors.map((error) => (error.field === 'body' ? { ...error, field: 'query' } : error))
  request.flaw ??= { stage: 'validation', error: invalidFields(fields) }
  return new ParsedInput('query', {})
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Why this request will be refused, once its access has been judged. Body and query are not typed then. */
    flaw: Flaw | undefined
  }
}
