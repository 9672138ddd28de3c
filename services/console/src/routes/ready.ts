import { answerReady } from '@trestle/common/lifecycle/readiness.ts'
import type { FastifyPluginAsync } from 'fastify'
import { notReady } from '../errors.ts'

export const readyRoutes: FastifyPluginAsync = async (app) => {
  app.get('/ready', () => answerReady(app.deps.readiness, notReady))
}
