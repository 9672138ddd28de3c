import { z } from 'zod'
import type { Routes } from '../plugins/request-input.ts'

/** 200 while the process lives. `GET /ready` tells whether it can serve. */
export const healthRoutes: Routes = async (app) => {
  app.get(
    '/health',
    { schema: { hide: true, response: { 200: z.object({ status: z.literal('ok') }) } } },
    async () => ({
      status: 'ok' as const,
    }),
  )
}
