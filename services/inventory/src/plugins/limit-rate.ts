import type { GuardContext } from '@trestle/endpoints/endpoints.ts'
import { tooManyRequests } from '../errors.ts'
import type { ClientLimit } from '../rate-limits/client-limit.ts'

/** Counts a request under its client's address, before anything else is known of it. @throws tooManyRequests */
export async function limitRate(limit: ClientLimit, { request }: GuardContext): Promise<void> {
  const seconds = await limit.consume(request.ip)
  if (seconds !== undefined) throw tooManyRequests({ headers: { 'Retry-After': String(seconds) } })
}
