import { Readable } from 'node:stream'
import { z } from 'zod'
import { errorAnswers } from '../../error-body.ts'
import { FIELD_TEXTS } from '../../field-errors.ts'
import { daysOf, type StatementPeriod } from '../../ledger/statement.ts'
import type { InTurn } from '../../pagination/page-query.ts'
import type { Routes } from '../../plugins/read-request.ts'
import { pathId, text } from '../../requests/fields.ts'
import { writeStatement } from '../../use-cases/write-statement.ts'

const DAYS_MAX = 366

const date = () =>
  text()
    .refine((value) => z.iso.date().safeParse(value).success, { error: FIELD_TEXTS.notDate })
    .meta({ format: 'date', pattern: undefined })

const Period = z
  .object({ from: date(), to: date() })
  .refine((period) => daysOf(period) >= 1, {
    path: ['to'],
    error: FIELD_TEXTS.beforeFrom,
    params: { code: 'RANGE' },
  })
  .refine((period) => daysOf(period) <= DAYS_MAX, {
    path: ['to'],
    error: FIELD_TEXTS.tooLongAfterFrom({ max: DAYS_MAX }),
    params: { code: 'RANGE' },
  })

/** The route sends the rows as a stream. A stream is not a `string`, so the type of the answer is `unknown`. */
const statementAnswer: unknown = {
  description: 'A header, the opening balance, the lines, the closing balance',
  content: { 'text/csv': { schema: z.string() } },
}

/** Writes the lines of a period as CSV (reference: Statements and documents). */
export const statementRoutes: Routes = async (app) => {
  app.get(
    '/merchants/:merchantId/statement.csv',
    {
      schema: {
        operationId: 'getStatement',
        tags: ['Lines'],
        summary: 'Get the lines of a period as CSV',
        description: 'With the balances before and after.',
        params: z.object({ merchantId: pathId() }),
        querystring: Period,
        response: {
          200: statementAnswer,
          ...errorAnswers(400, 401, 403, 404),
        },
      },
    },
    async (request, reply) => {
      const { caller, params, query: input } = request
      const withSlots: InTurn = (lines, read) => request.withSlots(lines, read)
      const { period, rows } = await writeStatement(app.deps, { caller, ...params, input, withSlots })
      reply.headers(fileHeaders(params.merchantId, period))
      // Each page of rows waits for its own slots, so the whole answer may take longer than the deadline.
      reply.liftDeadline()
      return reply.send(Readable.from(rows))
    },
  )
}

function fileHeaders(merchantId: string, { from, to }: StatementPeriod) {
  const name = `statement-${merchantId}-${from}-${to}.csv`
  return { 'content-disposition': `attachment; filename="${name}"`, 'content-type': 'text/csv; charset=utf-8' }
}
