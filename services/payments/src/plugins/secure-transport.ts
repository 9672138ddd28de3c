import type { FastifyRequest } from 'fastify'
import { refuseInsecureCard } from '../checkout/order.ts'

/** Returns whether a request came without TLS although card data needs TLS. Such a request does not get a card form either. */
export function isInsecure({ protocol, server }: FastifyRequest): boolean {
  return server.deps.config.checkout.requireTls && protocol !== 'https'
}

/**
 * Refuses a request to the vault without TLS. The vault does not know whether a card belongs to a test merchant, so it needs TLS
 * for all cards.
 * @throws cardDataInsecure for a request without TLS, if the settings require TLS
 */
export async function refuseInsecure(request: FastifyRequest): Promise<void> {
  if (isInsecure(request)) refuseInsecureCard()
}
