import { answerReady } from '@trestle/common/lifecycle/readiness.ts'
import type { FastifyPluginAsync } from 'fastify'
import { notReady } from '../errors.ts'

/** `GET /ready`: whether the process should get requests. */
export const readyRoutes: FastifyPluginAsync = async (app) => {
  app.get('/ready', () => answerReady(app.deps.readiness, notReady))
}
