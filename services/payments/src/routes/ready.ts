import { answerReady } from '@trestle/common/lifecycle/readiness.ts'
import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import { errorAnswersWithoutLimit } from '../error-body.ts'
import { notReady } from '../errors.ts'

const schema = {
  operationId: 'getReady',
  tags: ['Service'],
  summary: 'Check that the process should get requests',
  security: [],
  response: { 200: z.object({ status: z.literal('ready') }), ...errorAnswersWithoutLimit() },
}

export const readyRoutes: FastifyPluginAsync = async (app) => {
  app.get('/ready', { schema }, () => answerReady(app.deps.readiness, notReady))
}
