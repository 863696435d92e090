// Something to cut before a document is opened.

export const SAMPLE = {
  name: "A sample.md",
  text: `# Harbour report, spring

The harbour handled 41,200 containers between March and May, 17 percent more than in the spring before. Most of the growth came through the new east quay, which opened on 4 March and was full by April. Dr. Okafor, who planned the quay, had expected that for autumn at the earliest.

Fuel cost more. The tugs burned 312,000 litres, and the price rose from 1.04 to 1.19 a litre; the two together added 60,000 to the bill. Nothing else in the budget moved by more than a tenth.

## Traffic by quay

| quay | containers | change | berths |
|------|-----------:|-------:|-------:|
| north | 11,900 | +2 % | 4 |
| south | 13,100 | −1 % | 5 |
| east | 16,200 | new | 3 |

The south quay lost two weeks to dredging. Without that it would have grown as well: before the work began it stood 4 percent above the year before.

## What slowed ships down

Waiting for a pilot took 3.2 hours on average; it had been 2.6. There are eleven pilots and there should be fourteen. Two have been hired and begin in July, after their examination; a third post is open.

Fog closed the channel on nine days. On four of them the new radar would have kept it open, but the harbour master may not use it before the inspectors have signed, which they will do in June. See https://harbour.example/radar?stage=2 for the schedule.

> The radar is ready. The paper is not.

### Complaints

1. Noise on the east quay after ten at night: 23 letters, most of them from Cooper Street. Cranes now stop at half past nine.
2. The gate at the north quay opens too slowly. A second lane was painted in May, and lorries wait six minutes instead of fifteen.
3. Dust from the clinker terminal. Nets hang since 20 April; the measurements are due in summer.

## What comes next

The east quay gets a fourth berth in September. It costs 2.8 million, of which the port pays half. Until then ships over 200 metres go to the south quay, where the crane is older and unloads 22 boxes an hour instead of 31.

The council votes on the railway on 19 June. If it says yes, a fifth of the lorries could be gone by next spring; if it says no, the second gate must become a third.
`,
};
