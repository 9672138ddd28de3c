const POLL_MS = 250
const POLLS_MAX = 20

/** The steps of an attempt that begins while another request may be asking the acquirer for the same payment. */
export interface Beginning<Begun> {
  readonly begin: () => Promise<Begun>
  /** Whether another request is asking the acquirer under the same Idempotency-Key or for the same session. */
  readonly isRunning: (begun: Begun) => boolean
  readonly wait: (ms: number) => Promise<void>
}

/**
 * Begins an attempt when no other request asks the acquirer for the same payment. Waits up to 5 s for the end of such a
 * request. The result says when that request still runs after the wait (reference: Idempotency-Key).
 */
export async function beginOnceFree<Begun>({ begin, isRunning, wait }: Beginning<Begun>): Promise<Begun> {
  let begun = await begin()
  for (let polls = 0; isRunning(begun) && polls < POLLS_MAX; polls++) {
    await wait(POLL_MS)
    begun = await begin()
  }
  return begun
}
