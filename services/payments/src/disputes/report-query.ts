import { z } from 'zod'
import type { Flaw } from '../access/admit.ts'
import { id, ListQuery } from '../bodies/fields.ts'
import { NO_PAGE, type PageBounds, pageBounds } from '../pagination/cursor.ts'

/** The query of a list that names its merchant as a filter (reference: Disputes and fraud alerts). */
export const ReportQuery = ListQuery.extend({
  filter: z.object({ merchantId: id(), transactionId: id().optional(), test: z.boolean().optional() }),
})

/** What of such a query is read. The merchant is null when the query names none that could exist. */
export interface ReportPage extends PageBounds {
  readonly merchantId: string | null
  readonly transactionId: string | undefined
  readonly test: boolean | undefined
}

/** The page that is asked for. Of a query that is refused the merchant counts all the same: access is judged before values. */
export function reportPage(query: z.infer<typeof ReportQuery>, flaw: Flaw | undefined): ReportPage {
  if (!flaw)
    return { ...pageBounds(query), ...query.filter, transactionId: query.filter.transactionId, test: query.filter.test }
  const named = MerchantOfQuery.safeParse(flaw.input)
  const merchantId = named.success ? named.data.filter.merchantId : null
  return { ...pageBounds(NO_PAGE), merchantId, transactionId: undefined, test: undefined }
}

const MerchantOfQuery = z.object({ filter: z.object({ merchantId: id() }) })
