import { pathOf } from '@trestle/common/telemetry/path-of.ts'
import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import { type OperatorPage, showOperatorPage } from '../operators/operator-list.ts'
import type { Cursor } from '../pagination/cursor.ts'
import { cursorLink } from '../pagination/page-links.ts'

const Query = z.record(z.string(), z.string())

/** The rows that a page of operators shows. Names the next page in the header `Link` (RFC 8288) where there is one. */
export function sendOperatorPage<Row>(
  reply: FastifyReply,
  page: OperatorPage,
  { rows, placeOf }: { readonly rows: readonly Row[]; readonly placeOf: (row: Row) => Cursor },
): readonly Row[] {
  const { shown, next } = showOperatorPage(page, rows, placeOf)
  const { request } = reply
  if (next !== undefined)
    reply.header('link', cursorLink(pathOf(request.url), { ...Query.parse(request.query), cursor: next }))
  return shown
}
