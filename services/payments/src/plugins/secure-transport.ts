import type { FastifyRequest } from 'fastify'
import { refuseInsecureCard } from '../checkout/order.ts'

/** Whether a request came without TLS although card data needs TLS. Such a request gets no card form either. */
export function isInsecure({ protocol, server }: FastifyRequest): boolean {
  return server.deps.config.checkout.requireTls && protocol !== 'https'
}

/**
 * Refuses a request of the vault without TLS. The vault does not know whether a card is of a test merchant, so it needs TLS for
 * all cards.
 * @throws cardDataInsecure for a request without TLS, where the settings require it
 */
export async function refuseInsecure(request: FastifyRequest): Promise<void> {
  if (isInsecure(request)) refuseInsecureCard()
}
