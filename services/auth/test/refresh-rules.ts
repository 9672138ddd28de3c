import type { RefreshRules } from '../src/sessions/refresh-session.ts'

/** Rules without session ends. A used token may be reused during the whole test. */
export const lenientRules: RefreshRules = {
  revokeFamily: true,
  reuseSeconds: 1_000,
  timeboxSeconds: null,
  inactivitySeconds: null,
  lowAalSeconds: null,
  singlePerUser: false,
  audit: true,
}
