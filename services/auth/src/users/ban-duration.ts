import { parseDuration } from '@trestle/common/config/setting.ts'

/** What the type of a Go duration can hold: 292 years, in milliseconds. */
const LONGEST_MS = Number(2n ** 63n - 1n) / 1e6

/**
 * Milliseconds of the ban that an admin asks for: a Go duration, `0` or `none` (reference: Bans). 0 clears a ban, a
 * negative one has ended already; undefined when the text is none of these. Unlike a setting, a bare number is no
 * duration.
 */
export function parseBanDuration(text: string): number | undefined {
  if (text === 'none') return 0
  const unsigned = text.replace(/^[+-]/, '')
  if (unsigned === '0') return 0
  const ms = /[a-zµμ]$/.test(unsigned) ? parseDuration(unsigned) : undefined
  if (ms === undefined || ms > LONGEST_MS) return undefined
  return text.startsWith('-') && ms !== 0 ? -ms : ms
}
