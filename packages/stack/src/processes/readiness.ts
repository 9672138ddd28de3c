import { get } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

const POLL_MS = 40
const REQUEST_TIMEOUT_MS = 2_000

/**
 * Resolves when the URL answers 200; asks again and again until then.
 *
 * @throws the reason of `signal`, when that is aborted first.
 */
export async function waitUntilReady(url: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted()
    if ((await statusOf(url, signal)) === 200) return
    await delay(POLL_MS, undefined, { signal }).catch(() => signal.throwIfAborted())
  }
}

/** The status of the answer; undefined when there is none, whatever the cause. */
function statusOf(url: string, signal: AbortSignal): Promise<number | undefined> {
  return new Promise((resolve) => {
    const request = get(url, { agent: false, timeout: REQUEST_TIMEOUT_MS, signal }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    request.once('timeout', () => request.destroy())
    request.once('error', () => resolve(undefined))
  })
}
