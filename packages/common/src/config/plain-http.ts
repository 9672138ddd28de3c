import { namesLoopback } from '../outbound/address-rules.ts'
import { hostOf } from '../outbound/outbound.ts'

const FORGED_KEYS = 'replace the keys, and sign tokens for anybody'

/**
 * Returns a warning when something that must stay secret or unchanged travels to or from another machine without TLS; by
 * default the keys that verify tokens. It does not stop a start: plain HTTP is common inside the network of a cluster.
 * @param setting the full name of the setting
 * @param risk what somebody on the way can do
 */
export function plainHttpWarnings(setting: string, url: string | undefined, risk = FORGED_KEYS): readonly string[] {
  if (url === undefined || !/^http:/i.test(url) || namesLoopback(hostOf(url))) return []
  return [`${setting} is http:// and not on this machine: whoever is between can ${risk}`]
}
