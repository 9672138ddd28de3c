"""Judges bank files by the schemas of sepaxml, and reads them by xmlschema and by pyiso20022. See write-bank-files.ts."""
import csv
import importlib
import json
import pathlib
import sys
from decimal import Decimal

import sepaxml
import xmlschema
from xsdata.formats.dataclass.parsers import XmlParser

folder = pathlib.Path(sys.argv[1])
schemas = pathlib.Path(sepaxml.__file__).parent / "schemas"
cents = lambda amount: str(int(Decimal(str(amount)) * 100))


def by_schema(schema, path):
    order = schema.to_dict(str(path), decimal_type=str)["CstmrCdtTrfInitn"]["PmtInf"][0]
    day = order["ReqdExctnDt"]
    place = order["Dbtr"]["PstlAdr"]
    rows = [
        {
            "id": row["PmtId"]["EndToEndId"],
            "name": row["Cdtr"]["Nm"],
            "iban": row["CdtrAcct"]["Id"]["IBAN"],
            "cents": cents(row["Amt"]["InstdAmt"]["$"]),
        }
        for row in order["CdtTrfTxInf"]
    ]
    return (day["Dt"] if isinstance(day, dict) else day), [place["TwnNm"], place["Ctry"]], rows


def by_classes(version, path):
    name = version.replace(".", "_")
    module = importlib.import_module(f"pyiso20022.pain.{name}.{name}")
    order = XmlParser().parse(path, module.Document).cstmr_cdt_trf_initn.pmt_inf[0]
    place = order.dbtr.pstl_adr
    day = getattr(order.reqd_exctn_dt, "dt", order.reqd_exctn_dt)
    rows = [
        {
            "id": row.pmt_id.end_to_end_id,
            "name": row.cdtr.nm,
            "iban": row.cdtr_acct.id.iban,
            "cents": cents(row.amt.instd_amt.value),
        }
        for row in order.cdt_trf_tx_inf
    ]
    return str(day), [place.twn_nm, place.ctry], rows


failures = 0
batches = json.loads((folder / "expected.json").read_text())
known = {name: xmlschema.XMLSchema(str(schemas / f"{name}.xsd")) for name in {batch["version"] for batch in batches}}
for batch in batches:
    path, version = folder / f"{batch['file']}.xml", batch["version"]
    problems = [str(error.reason) for error in known[version].iter_errors(str(path))]
    wanted = (batch["day"], batch["payer"], batch["paid"])
    for reader, found in (("xmlschema", by_schema(known[version], path)), ("pyiso20022", by_classes(version, path))):
        if found != wanted:
            problems.append(f"{reader} reads {found}, and not {wanted}")
    with open(folder / f"{batch['file']}.csv", encoding="utf-8", newline="") as table:
        rows = [[row["payout"], row["name"], row["iban"], row["amount_minor"]] for row in csv.DictReader(table)]
    if rows != batch["table"]:
        problems.append(f"the table has {rows}, and not {batch['table']}")
    print(f"{'wrong' if problems else 'ok   '} {version} {batch['file']}: {len(batch['paid'])} paid, {len(rows)} in the table, {batch['held']} held back")
    for problem in problems:
        print(f"      {problem}")
    failures += len(problems)
sys.exit(1 if failures else 0)
