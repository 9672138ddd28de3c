import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { badRequest, unsupportedMediaType } from '../errors.ts'
import { type FormFields, readForm } from '../http/form.ts'
import { type JsonMember, readJsonObject } from '../json/json-object.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Reads JSON and form bodies in UTF-8; of any other media type, charset or encoding the answer is 415. */
export const requestBodies = fp(
  async (app) => {
    app.removeAllContentTypeParsers()
    addParser(app, /^application\/(?:json|[\w.-]+\+json)(?:;|$)/i, readJsonObject)
    addParser(app, /^application\/x-www-form-urlencoded(?:;|$)/i, readForm)
  },
  { name: 'request-bodies' },
)

type Body = FormFields | Readonly<Record<string, JsonMember>>

function addParser(app: FastifyInstance, mediaType: RegExp, read: (text: string) => Body): void {
  app.addContentTypeParser(mediaType, { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    if (!isPlainUtf8(request)) throw unsupportedMediaType()
    return body.length === 0 ? {} : read(decode(body))
  })
}

function isPlainUtf8({ headers }: FastifyRequest): boolean {
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(headers['content-type'] ?? '')?.[1] ?? 'utf-8'
  const encoding = headers['content-encoding'] ?? 'identity'
  return /^utf-?8$/i.test(charset) && encoding === 'identity'
}

function decode(body: Buffer): string {
  try {
    return utf8.decode(body)
  } catch (cause) {
    throw badRequest({ message: 'The request body is not UTF-8.', cause })
  }
}
