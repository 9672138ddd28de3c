const POLL_MS = 250
const POLLS_MAX = 20

/** The functions for beginning an attempt while another request may be asking the acquirer for the same payment. */
export interface Beginning<Begun> {
  readonly begin: () => Promise<Begun>
  /** Whether another request is asking the acquirer under the same Idempotency-Key or for the same session. */
  readonly isRunning: (begun: Begun) => boolean
  readonly wait: (ms: number) => Promise<void>
}

/**
 * Begins an attempt if no other request is asking the acquirer for the same payment. Waits up to 5 s for such a request to end.
 * If that request still runs after the wait, the result says so (reference: Idempotency-Key).
 */
export async function beginOnceFree<Begun>({ begin, isRunning, wait }: Beginning<Begun>): Promise<Begun> {
  let begun = await begin()
  for (let polls = 0; isRunning(begun) && polls < POLLS_MAX; polls++) {
    await wait(POLL_MS)
    begun = await begin()
  }
  return begun
}
