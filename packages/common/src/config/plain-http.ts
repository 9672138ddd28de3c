import { namesLoopback } from '../outbound/address-rules.ts'
import { hostOf } from '../outbound/outbound.ts'

const FORGED_KEYS = 'replace the keys, and sign tokens for anybody'

/**
 * A warning where something that must stay secret or whole is fetched or sent without TLS from or to another machine; by default
 * the keys that tokens are verified with. It is no problem that stops a start: inside the network of a cluster or of containers,
 * plain HTTP is common.
 * @param setting the full name of the setting
 * @param risk what whoever is between can do
 */
export function plainHttpWarnings(setting: string, url: string | undefined, risk = FORGED_KEYS): readonly string[] {
  if (url === undefined || !/^http:/i.test(url) || namesLoopback(hostOf(url))) return []
  return [`${setting} is http:// and not on this machine: whoever is between can ${risk}`]
}
