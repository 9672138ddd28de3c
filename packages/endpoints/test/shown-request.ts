import { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { accepts, Controller } from '../src/endpoints.ts'

/** A controller that answers with the details of its request, and reads the body in each way. */
class Default extends Controller<{ readonly word: string }> {
  GET() {
    const { ip, id, url, raw } = this.request
    return { ip, id, origin: url.origin, extra: raw.extra.length, word: this.application.context?.word ?? null }
  }

  POST({ ...keywords }) {
    return keywords
  }

  static PUT = accepts({ body: 'raw' })
  async PUT() {
    const chunks: string[] = []
    for await (const chunk of this.request.stream()) chunks.push(Buffer.from(chunk).toString())
    return chunks.join('')
  }

  static PATCH = accepts({ body: 'raw' })
  async PATCH() {
    return this.request.json()
  }

  static DELETE = accepts({ body: 'raw' })
  async DELETE() {
    await this.request.stream().cancel()
    return 'not read'
  }

  GET_raw() {
    const [response] = this.request.raw.extra
    // Behind Fastify the response is a Fastify reply. The published types do not refer to Fastify, so the cast is needed.
    const raw = response instanceof ServerResponse ? response : (response as FastifyReply).raw
    raw.end('by itself')
    return Readable.from(['not sent'])
  }

  GET_fails() {
    throw new Error('a fault')
  }
}

export const modules = { index: { Default } }
/** A log that discards everything. */
export const quiet = { warn: () => {}, error: () => {} }
