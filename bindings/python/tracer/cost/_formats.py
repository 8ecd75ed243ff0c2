# SPDX-License-Identifier: Apache-2.0
"""Bill formats as data: which columns each has, and the SQL that makes a line of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

__all__ = ["FORMATS", "NATIVE", "Columns", "Format", "decimal_of", "detect", "key_of", "text_of"]


def key_of(name: str) -> str:
    """A column's name without case and separators: CUR 2.0, CUR and Athena write one column in three ways."""
    return re.sub("[^a-z0-9]", "", name.lower())


class Columns:
    """The columns of a file, and SQL for their values: text, money as text, times. A column that is missing is NULL."""

    def __init__(self, types: Mapping[str, str]) -> None:
        self.types = dict(types)
        self._names = {key_of(name): name for name in types}

    def has(self, key: str) -> bool:
        return key in self._names

    def name(self, key: str) -> str:
        return self._names[key]

    def type(self, key: str) -> str:
        return self.types[self._names[key]]

    def raw(self, *keys: str) -> str:
        for key in keys:
            if key in self._names:
                return '"' + self._names[key].replace('"', '""') + '"'
        return "NULL"

    def text(self, *keys: str) -> str:
        """NULL, None, NaN and an empty word are one: no value."""
        return text_of(self.raw(*keys))

    def time(self, *keys: str) -> str:
        """UTC where no zone is given."""
        return f"regexp_replace({self.text(*keys)}, ' UTC$', '')"


def text_of(value: str) -> str:
    if value == "NULL":
        return "NULL::VARCHAR"
    word = f"trim(({value})::VARCHAR)"
    # No IN: the planner makes a join of each, which takes four times as long.
    nothing = " ".join(f"WHEN '{each}' THEN NULL" for each in ("", "null", "none", "nan", "nat"))
    return f"CASE WHEN strlen({word}) > 4 THEN {word} ELSE CASE lower({word}) {nothing} ELSE {word} END END"


@dataclass(frozen=True)
class Format:
    """A kind of bill."""

    title: str
    required: tuple[str, ...]
    """Columns that no total is possible without, as the provider writes them."""
    marks: tuple[str, ...]
    """Columns by which the format is known; the one with most of them wins."""
    select: Callable[[Columns], dict[str, str]]
    """Canonical column -> SQL, all texts."""
    bases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Basis -> columns of which one must be there."""


def _tags_of(columns: Columns, key: str, prefixes: tuple[str, ...]) -> str:
    """As a JSON object."""
    if columns.has(key):
        kind, raw = columns.type(key).upper(), columns.raw(key)
        if kind.startswith("MAP"):
            return f"to_json({raw})::VARCHAR"
        if kind.endswith("[][]"):
            pairs = f"list_transform({raw}, lambda p: struct_pack(k := p[1], v := p[2]))"
            return f"CASE WHEN {raw} IS NULL THEN NULL ELSE to_json(map_from_entries({pairs}))::VARCHAR END"
        if kind.startswith("STRUCT") and kind.endswith("[]"):
            pairs = f"list_transform({raw}, lambda p: struct_pack(k := p.key, v := p.value))"
            return f"CASE WHEN {raw} IS NULL THEN NULL ELSE to_json(map_from_entries({pairs}))::VARCHAR END"
        if kind.startswith("STRUCT") or kind == "JSON":
            return f"to_json({raw})::VARCHAR"
        return columns.text(key)
    names = [name for name in columns.types if name.lower().startswith(prefixes)]
    if not names:
        return "NULL::VARCHAR"
    parts = []
    for name in names:
        tag = next(name[len(prefix):] for prefix in prefixes if name.lower().startswith(prefix))
        value = text_of('"' + name.replace('"', '""') + '"')
        parts.append(f"'{tag.replace(chr(39), chr(39) * 2)}', {value}")
    return f"json_object({', '.join(parts)})::VARCHAR"


def decimal_of(text: str) -> str:
    """Refused where it is no number."""
    return f"CAST({text} AS DECIMAL(38, 24))"


# Whose amount is the time that a machine ran. That of CPUCredits is time of its CPUs.
_CUR_COMPUTE = r"(BoxUsage|SpotUsage|UnusedBox|DedicatedUsage|HostUsage|HostBoxUsage)"
_CUR_INSTANCE = r"(^|/)(i-[0-9a-f]+)$"


def _cur(c: Columns) -> dict[str, str]:
    kind = c.text("lineitemlineitemtype")
    cash = c.text("lineitemunblendedcost")
    split_used, split_unused = c.text("splitlineitemsplitcost"), c.text("splitlineitemunusedcost")
    own = f"coalesce(try_cast({cash} AS DOUBLE), 0) <> 0"
    is_split = f"({split_used} IS NOT NULL AND NOT ({own}))"
    plan_unused = "NULL::VARCHAR"
    if c.has("savingsplantotalcommitmenttodate"):
        total, used = (f"coalesce({c.text(key)}, '0')" for key in ("savingsplantotalcommitmenttodate",
                                                                      "savingsplanusedcommitment"))
        plan_unused = f"({decimal_of(total)} - {decimal_of(used)})::VARCHAR"
    fee_unused, fee_upfront = (f"coalesce({c.text(key)}, '0')" for key in (
        "reservationunusedrecurringfee", "reservationunusedamortizedupfrontfeeforbillingperiod"))
    reservation = c.text("reservationreservationarn")
    usage = c.text("lineitemusagetype")
    resource = c.text("lineitemresourceid")
    return {
        "start": c.time("lineitemusagestartdate"),
        "end": c.time("lineitemusageenddate"),
        "account": c.text("lineitemusageaccountid"),
        "payer": c.text("billpayeraccountid"),
        "period": c.time("billbillingperiodstartdate"),
        "invoice": c.text("billinvoiceid"),
        "identity": c.text("identitylineitemid"),
        "service": c.text("lineitemproductcode"),
        "usage_type": usage,
        "line_type": kind,
        "resource": resource,
        "parent": c.text("splitlineitemparentresourceid"),
        "instance": f"""coalesce(nullif(regexp_extract({resource}, '{_CUR_INSTANCE}', 2), ''),
            regexp_extract({c.text('splitlineitemparentresourceid')}, '{_CUR_INSTANCE}', 2))""",
        "instance_type": c.text("productinstancetype") if not c.has("product") else
        f"coalesce({c.text('productinstancetype')}, json_extract_string({_tags_of(c, 'product', ())}, '$.instance_type'))",
        "vcpus": c.text("productvcpu") if not c.has("product") else
        f"coalesce({c.text('productvcpu')}, json_extract_string({_tags_of(c, 'product', ())}, '$.vcpu'))",
        "memory": c.text("productmemory") if not c.has("product") else
        f"coalesce({c.text('productmemory')}, json_extract_string({_tags_of(c, 'product', ())}, '$.memory'))",
        "hours": f"CASE WHEN regexp_matches({usage}, '{_CUR_COMPUTE}') THEN {c.text('lineitemusageamount')} END",
        "currency": c.text("lineitemcurrencycode"),
        "tags": _tags_of(c, "resourcetags", ("resourcetags/user:", "resourcetags/", "resource_tags_")),
        "billed": f"CASE WHEN {is_split} THEN NULL ELSE {cash} END",
        "effective": f"""CASE WHEN {is_split} THEN NULL
            WHEN {kind} = 'DiscountedUsage' THEN coalesce({c.text('reservationeffectivecost')}, {cash})
            WHEN {kind} = 'SavingsPlanCoveredUsage' THEN coalesce({c.text('savingsplansavingsplaneffectivecost')}, {cash})
            WHEN {kind} IN ('SavingsPlanNegation', 'SavingsPlanUpfrontFee') THEN '0'
            WHEN {kind} = 'Fee' AND {reservation} IS NOT NULL THEN '0'
            WHEN {kind} = 'SavingsPlanRecurringFee' THEN coalesce({plan_unused}, {cash})
            WHEN {kind} = 'RIFee' THEN ({decimal_of(fee_unused)} + {decimal_of(fee_upfront)})::VARCHAR
            ELSE {cash} END""",
        # The list cost of what a fee covers is that of the usage.
        "list": f"""CASE WHEN {is_split} THEN NULL
            WHEN {kind} IN ('RIFee', 'SavingsPlanRecurringFee', 'SavingsPlanUpfrontFee', 'SavingsPlanNegation')
                OR {kind} = 'Fee' AND {reservation} IS NOT NULL THEN '0'
            ELSE {c.text('pricingpublicondemandcost')} END""",
        "split_used": f"CASE WHEN {is_split} THEN {split_used} END",
        "split_unused": f"CASE WHEN {is_split} THEN coalesce({split_unused}, '0') END",
        "list_split_used": f"CASE WHEN {is_split} THEN {c.text('splitlineitempublicondemandsplitcost')} END",
        "list_split_unused": f"CASE WHEN {is_split} THEN {c.text('splitlineitempublicondemandunusedcost')} END",
        "unused": f"CASE {kind} WHEN 'RIFee' THEN {fee_unused} WHEN 'SavingsPlanRecurringFee' THEN {plan_unused} END",
        "term": f"""CASE WHEN {kind} IN ('RIFee', 'SavingsPlanRecurringFee') THEN 'commitment'
            WHEN {kind} IN ('Usage', 'DiscountedUsage', 'SavingsPlanCoveredUsage') THEN 'usage' ELSE 'other' END""",
        "bucket": f"""CASE {kind} WHEN 'Tax' THEN 'tax' WHEN 'Credit' THEN 'credit' WHEN 'Refund' THEN 'refund'
            WHEN 'Fee' THEN 'fee' WHEN 'RIFee' THEN 'reservation fee' WHEN 'SavingsPlanRecurringFee' THEN 'savings plan fee'
            WHEN 'SavingsPlanUpfrontFee' THEN 'savings plan upfront fee'
            WHEN 'SavingsPlanNegation' THEN 'savings plan negation'
            WHEN 'EdpDiscount' THEN 'discount' WHEN 'PrivateRateDiscount' THEN 'discount'
            WHEN 'BundledDiscount' THEN 'discount' WHEN 'SppDiscount' THEN 'discount'
            WHEN 'Usage' THEN 'usage of no task' WHEN 'DiscountedUsage' THEN 'usage of no task'
            WHEN 'SavingsPlanCoveredUsage' THEN 'usage of no task'
            ELSE 'unclassified: ' || coalesce({kind}, 'no type') END""",
        "shape": f"""CASE WHEN {resource} LIKE 'vol-%' OR {resource} LIKE '%:volume/vol-%' THEN 'volume'
            WHEN regexp_matches({usage}, 'DataTransfer|-Bytes') THEN 'network' ELSE 'machine' END""",
    }


def _focus(c: Columns) -> dict[str, str]:
    category, details = c.text("chargecategory"), c.text("skupricedetails") if not c.has("skupricedetails") else \
        _tags_of(c, "skupricedetails", ())
    # Of cost that the provider has split (1.3), the resource and tags that it has split it to.
    allocated = c.text("allocatedresourceid")
    resource = f"coalesce({allocated}, {c.text('resourceid')})"
    tags = _tags_of(c, "tags", ())
    if c.has("allocatedtags"):
        tags = f"CASE WHEN {allocated} IS NULL THEN {tags} ELSE {_tags_of(c, 'allocatedtags', ())} END"
    used = c.text("commitmentdiscountstatus")
    return {
        "start": c.time("chargeperiodstart"),
        "end": c.time("chargeperiodend"),
        "account": c.text("subaccountid"),
        "payer": c.text("billingaccountid"),
        "period": c.time("billingperiodstart"),
        "invoice": c.text("invoiceid"),
        "identity": "NULL::VARCHAR",
        "service": c.text("servicename"),
        "usage_type": c.text("chargedescription"),
        "line_type": category,
        "resource": resource,
        "parent": "NULL::VARCHAR",
        "instance": f"""CASE WHEN {allocated} IS NULL THEN coalesce(nullif(regexp_extract({resource}, '(^|/)(i-[0-9a-f]+)$', 2), ''),
            nullif(regexp_extract({resource}, '/(instances|virtualMachines)/([^/]+)$', 2), '')) END""",
        "instance_type": f"json_extract_string({details}, '$.InstanceType')",
        "vcpus": f"json_extract_string({details}, '$.CoreCount')",
        "memory": f"json_extract_string({details}, '$.MemorySize')",
        "hours": f"CASE WHEN lower({c.text('consumedunit')}) IN ('hours', 'hour', 'hrs') THEN {c.text('consumedquantity')} END",
        "currency": c.text("billingcurrency"),
        "tags": tags,
        "billed": c.text("billedcost"),
        "effective": c.text("effectivecost"),
        "list": c.text("listcost"),
        "split_used": "NULL::VARCHAR", "split_unused": "NULL::VARCHAR",
        "list_split_used": "NULL::VARCHAR", "list_split_unused": "NULL::VARCHAR",
        "unused": "NULL::VARCHAR",
        "term": f"""CASE WHEN {category} = 'Usage' AND {used} = 'Unused' THEN 'unused'
            WHEN {category} = 'Usage' AND {c.text('chargeclass')} IS NULL THEN 'usage' ELSE 'other' END""",
        "bucket": f"""CASE WHEN lower({c.text('chargeclass')}) = 'correction' THEN 'correction'
            WHEN {category} = 'Usage' THEN 'usage of no task' WHEN {category} = 'Purchase' THEN 'purchase'
            WHEN {category} IN ('Tax', 'Credit', 'Adjustment') THEN lower({category})
            ELSE 'unclassified: ' || coalesce({category}, 'no type') END""",
        "shape": f"""CASE WHEN {resource} LIKE 'vol-%' OR {resource} LIKE '%:volume/vol-%' THEN 'volume'
            WHEN lower({c.text('servicecategory')}) = 'networking' OR contains(lower({c.text('chargedescription')}),
            'data transfer') THEN 'network' ELSE 'machine' END""",
    }


def _gcp(c: Columns) -> dict[str, str]:
    def part(record: str, name: str) -> str:
        """A member of a record, or the column that a flat file has in its place."""
        if c.has(record) and c.type(record).upper().startswith("STRUCT"):
            names = re.findall(r'[(,]\s*"?(\w+)"? ', c.type(record))
            return text_of(f'{c.raw(record)}."{name}"') if name in names else "NULL::VARCHAR"
        return c.text(key_of(record + name), key_of(record + "_" + name))

    credits = "NULL::VARCHAR"
    if c.has("credits"):
        raw, kind = c.raw("credits"), c.type("credits").upper()
        amounts = (f"list_transform({raw}, lambda x: x.amount::VARCHAR)" if kind.startswith("STRUCT")
                   else f"json_extract_string({raw}::VARCHAR, '$[*].amount')")
        credits = f"coalesce(list_sum(list_transform({amounts}, lambda x: {decimal_of('x')})), 0)"
    cost, resource = c.text("cost"), part("resource", "global_name")
    net = cost if credits == "NULL::VARCHAR" else f"({decimal_of(cost)} + {credits})::VARCHAR"
    name = f"coalesce({resource}, {part('resource', 'name')})"
    unit = part("usage", "pricing_unit")
    kind, sku = c.text("costtype"), part("sku", "description")
    return {
        "start": c.time("usagestarttime"),
        "end": c.time("usageendtime"),
        "account": part("project", "id"),
        "payer": c.text("billingaccountid"),
        "period": part("invoice", "month"),
        "invoice": "NULL::VARCHAR",
        "identity": "NULL::VARCHAR",
        "service": part("service", "description"),
        "usage_type": sku,
        "line_type": kind,
        "resource": name,
        "parent": "NULL::VARCHAR",
        "instance": f"""CASE WHEN {name} LIKE '%/instances/%' THEN regexp_extract({name}, '/instances/([^/]+)$', 1)
            WHEN {part('service', 'description')} = 'Compute Engine' AND regexp_matches({sku}, '(Core|Ram) ')
            THEN regexp_extract({name}, '([^/]+)$', 1) END""",
        "instance_type": _gcp_system(c, "machine_spec"),
        "vcpus": _gcp_system(c, "cores"),
        "memory": f"(try_cast({_gcp_system(c, 'memory')} AS DOUBLE) / 1024)::VARCHAR",
        "hours": "NULL::VARCHAR",
        "currency": c.text("currency"),
        "tags": _tags_of(c, "labels", ("labels.", "labels_")),
        "billed": net,
        "effective": net,
        "list": f"coalesce({c.text('costatlist')}, {cost})",
        "split_used": "NULL::VARCHAR", "split_unused": "NULL::VARCHAR",
        "list_split_used": "NULL::VARCHAR", "list_split_unused": "NULL::VARCHAR",
        "unused": "NULL::VARCHAR",
        "term": f"CASE WHEN coalesce({kind}, 'regular') = 'regular' THEN 'usage' ELSE 'other' END",
        "bucket": f"""CASE WHEN contains({sku}, 'Commitment') THEN 'commitment fee'
            WHEN coalesce({kind}, 'regular') = 'regular' THEN 'usage of no task'
            WHEN {kind} IN ('tax', 'adjustment', 'rounding_error') THEN replace({kind}, '_', ' ')
            ELSE 'unclassified: ' || {kind} END""",
        "shape": f"""CASE WHEN contains(lower({sku}), 'network') OR contains(lower({sku}), 'egress') THEN 'network'
            WHEN regexp_matches({sku}, 'Core') AND lower({unit}) = 'hour' THEN 'cpu'
            WHEN regexp_matches({sku}, 'Ram') AND lower({unit}) = 'gibibyte hour' THEN 'memory' ELSE 'machine' END""",
    }


def _gcp_system(c: Columns, name: str) -> str:
    tags = _tags_of(c, "systemlabels", ("system_labels.",))
    return f"json_extract_string({tags}, '$.\"compute.googleapis.com/{name}\"')"


FORMATS = (
    Format("AWS Cost and Usage Report",
           ("line_item_usage_start_date", "line_item_usage_end_date", "line_item_line_item_type", "line_item_unblended_cost"),
           ("lineitemusagestartdate", "lineitemlineitemtype", "lineitemunblendedcost", "lineitemproductcode",
            "lineitemresourceid"), _cur, bases={"list": ("pricing_public_on_demand_cost", "split_line_item_public_on_demand_split_cost")}),
    Format("FOCUS",
           ("ChargePeriodStart", "ChargePeriodEnd", "ChargeCategory", "BilledCost", "EffectiveCost", "BillingCurrency",
            "ResourceId"),
           ("chargeperiodstart", "chargecategory", "billedcost", "effectivecost", "billingcurrency", "servicecategory"),
           _focus, bases={"list": ("ListCost",)}),
    Format("Google Cloud detailed usage cost export",
           ("usage_start_time", "usage_end_time", "cost", "currency", "credits"),
           ("usagestarttime", "usageendtime", "billingaccountid", "cost", "currency", "costtype", "exporttime"), _gcp,
           bases={"list": ("cost_at_list",)}),
)


# A column of exports that are not read, and how to get FOCUS instead.
NATIVE = {
    "metercategory": "it is Azure's own export: in Cost Management, add an export of the type 'Cost and usage details (FOCUS)'",
    "lineitemreferenceno": "it is Oracle's own report: under Billing, Cost and Usage Reports, take those of the folder FOCUS Reports"}


def detect(columns: Columns) -> Format | None:
    """The format that most columns speak for; None: of no format there are three."""
    count, best = max(((sum(columns.has(mark) for mark in each.marks), each) for each in FORMATS), key=lambda pair: pair[0])
    return best if count >= 3 else None
