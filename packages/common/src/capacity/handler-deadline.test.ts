import type { FastifyReply } from 'fastify'
import pino from 'pino'
import { expect, it, vi } from 'vitest'
import { plainVocabulary } from '../../test/plain-vocabulary.ts'
import { createServer } from '../server/create-server.ts'

it.each<[string, (reply: FastifyReply) => unknown]>([
  ['returns its answer', () => ({})],
  ['sends its answer', (reply) => reply.redirect('/')],
])('logs no query of a request whose late handler %s', async (_, answer) => {
  const lines: string[] = []
  const logger = pino({}, { write: (line) => void lines.push(line) })
  const now = () => new Date('2026-01-02T03:04:05Z')
  const app = createServer({ logger, now, vocabulary: plainVocabulary, bodyLimit: 1, handlerTimeoutMs: 10 })
  const work = Promise.withResolvers<void>()
  app.get('/links/:token', async (_request, reply) => {
    await work.promise
    return answer(reply)
  })
  const { statusCode } = await app.inject('/links/first-secret?code=second-secret')
  expect(statusCode).toBe(504)
  work.resolve()
  await vi.waitFor(() => expect(lines.join('')).toContain('Reply was already sent'))
  expect(lines.join('')).not.toContain('secret')
  await app.close()
})
