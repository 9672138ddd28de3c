import type { FastifyReply } from 'fastify'
import pino from 'pino'
import { expect, it, onTestFinished } from 'vitest'
import { plainVocabulary } from '../../test/plain-vocabulary.ts'
import { createServer } from './create-server.ts'

/** Runs a request whose handler returns after the 504. @returns the lines of the log */
async function answerLate(answer: (reply: FastifyReply) => unknown) {
  const lines: string[] = []
  const logger = pino({}, { write: (line) => void lines.push(line) })
  const now = () => new Date('2026-01-02T03:04:05Z')
  const app = createServer({ logger, now, vocabulary: plainVocabulary, bodyLimit: 1, handlerTimeoutMs: 10 })
  onTestFinished(() => app.close())
  const [work, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  app.get('/links/:token', async (_request, reply) => {
    await work.promise
    // Fastify handles the handler's result before this callback runs.
    setImmediate(() => ended.resolve())
    return answer(reply)
  })
  const { statusCode } = await app.inject('/links/first-secret?code=second-secret')
  expect(statusCode).toBe(504)
  work.resolve()
  await ended.promise
  return lines
}

it('logs nothing of what a late handler returns', async () => {
  const lines = await answerLate(() => ({}))
  expect(lines.filter((line) => /Reply was already sent|secret/.test(line))).toEqual([])
})

it('logs no query of a request whose late handler sends its answer', async () => {
  const lines = (await answerLate((reply) => reply.redirect('/'))).join('')
  expect(lines).toContain('Reply was already sent')
  expect(lines).not.toContain('secret')
})
