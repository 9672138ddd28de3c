import { createNoopMeter } from '@opentelemetry/api'
import { createServer } from '@trestle/common/server/create-server.ts'
import { createLogger } from '@trestle/common/telemetry/logger.ts'
import type { FastifyPluginAsync } from 'fastify'
import { errorVocabulary } from '../src/error-body.ts'
import { statusAndBody } from './bodies.ts'

/** Returns the answers of a server with only these routes to a POST whose body is not JSON, for each URL. */
export async function answersOf(routes: FastifyPluginAsync, urls: readonly string[]) {
  const app = createServer({
    logger: createLogger({ level: 'panic', stdout: false }).logger,
    vocabulary: errorVocabulary,
    now: () => new Date(),
    meter: createNoopMeter(),
    bodyLimit: 1_000,
    handlerTimeoutMs: 60_000,
  })
  await app.register(routes)
  const headers = { 'content-type': 'application/json' }
  const ask = (url: string) => app.inject({ method: 'POST', url, headers, payload: '{' })
  const answers = await Promise.all(urls.map(ask))
  await app.close()
  return answers.map(statusAndBody)
}
