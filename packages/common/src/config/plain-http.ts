import { namesLoopback } from '../outbound/address-rules.ts'
import { hostOf } from '../outbound/outbound.ts'

/**
 * A warning where the keys that tokens are verified with are fetched without TLS from another machine. It is no problem that
 * stops a start: inside the network of a cluster or of containers, plain HTTP is common.
 * @param setting the full name of the setting
 */
export function plainHttpWarnings(setting: string, url: string | undefined): readonly string[] {
  if (url === undefined || !/^http:/i.test(url) || namesLoopback(hostOf(url))) return []
  return [
    `${setting} is http:// and not on this machine: whoever is between can replace the keys, and sign tokens for anybody`,
  ]
}
