import type { FastifyRequest } from 'fastify'
import { cardDataInsecure } from '../errors.ts'

/** Whether a request may bring no card data, and be shown no form for it, because it came without TLS where that is required. */
export function isInsecure({ protocol, server }: FastifyRequest): boolean {
  return server.deps.requireTls && protocol !== 'https'
}

/** For the vault, which cannot know whose card it is: test or live, nothing is taken without TLS. @throws 400 */
export async function refuseInsecure(request: FastifyRequest): Promise<void> {
  if (isInsecure(request)) throw cardDataInsecure()
}
