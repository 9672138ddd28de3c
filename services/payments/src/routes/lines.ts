import { z } from 'zod'
import { requireObject } from '../access/require-access.ts'
import { errorAnswers } from '../error-body.ts'
import { LineView, viewLine } from '../ledger/line.ts'
import { readLine } from '../ledger/line-repository.ts'
import type { Routes } from '../plugins/read-request.ts'
import { pathId } from '../requests/fields.ts'

/** Reads a line, without a wrapper (reference: Reading transactions and lines). */
export const linesRoutes: Routes = async (app) => {
  app.get(
    '/lines/:lineId',
    {
      schema: {
        operationId: 'getLine',
        tags: ['Lines'],
        summary: 'Get a line',
        params: z.object({ lineId: pathId() }),
        response: { 200: LineView, ...errorAnswers(401, 403, 404) },
      },
    },
    async ({ caller, input, params: { lineId } }) => {
      const result = await readLine(app.deps.pools, { ...caller, id: lineId })
      const line = requireObject(caller, result, { input, name: 'line' })
      return viewLine(line)
    },
  )
}
