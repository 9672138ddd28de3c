import { timingSafeEqual } from 'node:crypto'

/** Whether two texts are the same. Compares texts of one length in constant time, so that an answer's time tells no part of either. */
export function equalSecrets(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)]
  return a.length === b.length && timingSafeEqual(a, b)
}
