# SPDX-License-Identifier: GPL-3.0-or-later
"""perftest's report: recorded outputs, field cases, damaged outputs, noise."""

from __future__ import annotations

import contextlib
import itertools
import json
import pathlib
import random
from typing import Any

import pytest
from ansible_collections.rdma.k8s.plugins.module_utils.perftest import parse_perftest, same_run, statistic
from ansible_collections.rdma.k8s.plugins.module_utils.perftest_errors import DAMAGED, DEAD, FAILED, PATTERNS, REASONS, PerftestError

FIXTURES = pathlib.Path(__file__).parents[2] / "fixtures" / "perftest"
RECORDED = sorted(FIXTURES.glob("*.txt"))
GOOD = sorted(path for path in RECORDED if "result" in json.loads(path.with_suffix(".json").read_text()))

GBITS = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
LATENCY = (
    " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]"
    "   99% percentile[usec]   99.9% percentile[usec] \n"
)
ROW = " 65536      5000             97.50              97.49  \t\t     0.185950\n"
BANNER = "-" * 87 + "\n                    RDMA_Write BW Test\n Dual-port       : OFF\t\tDevice         : mlx5_0\n" + "-" * 87 + "\n"
ADDRESSES = (
    " local address: LID 0000 QPN 0x0137 PSN 0xbd4e80 RKey 0x1fffb9 VAddr 0x007f58a406e000\n"
    " GID: 00:00:00:00:00:00:00:00:00:00:255:255:192:00:02:05\n"
    " remote address: LID 0000 QPN 0x0138 PSN 0x6d058e RKey 0x1fffb9 VAddr 0x007f71dddd9000\n"
    " GID: 00:00:00:00:00:00:00:00:00:00:255:255:192:00:02:08\n" + "-" * 87 + "\n"
)
FRAME = BANNER + ADDRESSES + GBITS


def expected(path: pathlib.Path) -> dict[str, Any]:
    wanted: dict[str, Any] = json.loads(path.with_suffix(".json").read_text())
    return wanted


def refused(text: str, command: str | None = None) -> PerftestError:
    with pytest.raises(PerftestError) as caught:
        parse_perftest(text, command)
    return caught.value


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_recorded_output(path: pathlib.Path) -> None:
    wanted = expected(path)
    if "result" in wanted:
        assert parse_perftest(path.read_text(), wanted.get("command")) == wanted["result"]
    else:
        error = refused(path.read_text(), wanted.get("command"))
        assert {"reason": error.reason, "outcome": error.outcome, "retry": error.retry, "line": error.line} == wanted["error"]


class TestFieldCases:
    """FC-01 … FC-19 and FC-73: composed from reports of other people's trouble."""

    @pytest.mark.parametrize("label", ["MB/sec", "MiB/sec"])
    def test_fc01_both_labels_are_the_same_unit(self, label: str) -> None:
        text = GBITS.replace("Gb/sec", label) + " 65536      5000             11624.10              11620.50  \t\t     0.185928\n"
        assert statistic(parse_perftest(text), "average_gbit_s") == pytest.approx(97.48, abs=0.005)

    def test_fc01_an_unknown_unit_is_named(self) -> None:
        error = refused(GBITS.replace("Gb/sec", "GB/sec") + ROW)
        assert (error.reason, "GB/sec" in str(error)) == ("unknown_unit", True)

    LINES = (
        "{",
        "test_info: {",
        "test: RDMA_Write_Latency_Test,",
        'Device: "rxe0",',
        "},",
        "results: {",
        "MsgSize: 128,",
        "n_iterations: 100,",
    )
    VALUES = (
        "t_min: 2.10,",
        "t_max: 9.99,",
        "t_typical: 2.40,",
        "t_avg: 2.42,",
        "t_stdev: 0.10,",
        "percentile_99: 3.11,",
        "percentile_99.9: 4.03,",
    )

    def test_fc02_the_json_that_is_none(self) -> None:
        result = parse_perftest("\n".join([*self.LINES, *self.VALUES, "},", "}"]))
        assert statistic(result, "average_us", 128) == 2.42
        assert statistic(result, "p99_9_us") == 4.03

    def test_fc02_valid_json_gives_the_same(self) -> None:
        values = {"MsgSize": 65536, "n_iterations": 5000, "BW_peak": 97.50, "BW_average": 97.49}
        members = [f'"{key}": {value}' if key != "BW_peak" else '"BW_peak": 97.50' for key, value in values.items()]
        text = '{\n"test_info": {\n"test": "RDMA_Write_BW_Test",\n"Device": "mlx5_0"\n},\n"results": {\n'
        text += ",\n".join([*members, '"MsgRate": 0.185950']) + "\n}\n}\n"
        assert statistic(parse_perftest(text, "ib_write_bw --report_gbits"), "average_gbit_s") == 97.49

    def test_fc02_json_without_its_command_has_no_unit(self) -> None:
        assert refused((FIXTURES / "4.5-0.17_rxe_ib_write_bw-n_300_out-json.txt").read_text()).reason == "unknown_unit"

    def test_fc02_half_a_json_is_refused(self) -> None:
        assert refused("\n".join(self.LINES + self.VALUES)).reason == "cut"
        assert refused("\n".join([*self.LINES, "},", "}"])).reason == "no_row"

    def test_fc03_usage_is_no_result(self) -> None:
        usage = (
            "Usage:\n  ib_write_bw            start a server and wait for connection\n  --report_gbits Report BW in Gbit/sec (MiB/sec)\n"
        )
        error = refused("ib_write_bw: unrecognized option '--out_json'\n" + usage)
        assert (error.reason, error.outcome, "--out_json" in error.cause) == ("unknown_option", FAILED, True)
        assert refused(usage).reason == "usage"

    def test_fc05_a_warning_stands_between_header_and_row(self) -> None:
        warning = "Conflicting CPU frequency values detected: 1200.000000 != 2900.000000. CPU Frequency is not max."
        result = parse_perftest(GBITS + warning + "\n 65536      5000             97.40              97.35  \t\t     0.185680\n")
        assert statistic(result, "average_gbit_s") == 97.35
        assert result["warnings"] == [warning]

    def test_fc06_no_peak_and_no_percentiles_in_duration_mode(self) -> None:
        text = " WARNING: BW peak won't be measured in this run.\n" + GBITS.replace("Gb", "MiB")
        result = parse_perftest(text + " 65536      553000           0.00               11510.40  \t\t     0.184166\n")
        assert result["rows"][0]["peak_gbit_s"] is None
        assert result["warnings"] == ["WARNING: BW peak won't be measured in this run."]
        duration = parse_perftest(
            " #bytes        #iterations       t_avg[usec]    tps average\n 2             5873211            1.70           587321.40\n"
        )
        assert statistic(duration, "average_us") == 1.70
        with pytest.raises(PerftestError, match="not available with -D"):
            statistic(duration, "p99_us")

    def test_fc07_nine_latency_columns_under_eleven_words(self) -> None:
        text = (
            LATENCY + " 2       1000          1.61           5.03         1.66     \t       1.67        \t0.05   \t\t1.79    \t\t4.88   \n"
        )
        row = parse_perftest(text)["rows"][0]
        names = ("min_us", "max_us", "typical_us", "average_us", "stdev_us", "p99_us", "p99_9_us")
        assert [row[name] for name in names] == [1.61, 5.03, 1.66, 1.67, 0.05, 1.79, 4.88]

    def test_fc08_a_driver_that_is_not_installed_is_a_warning(self) -> None:
        warning = "libibverbs: Warning: couldn't load driver 'libfoo-rdmav34.so': libfoo-rdmav34.so: cannot open shared object file"
        result = parse_perftest(f"{warning}\n{warning}\n{FRAME}{ROW}{'-' * 87}\n")
        assert (statistic(result, "average_gbit_s"), result["warnings"]) == (97.49, [warning, warning])

    @pytest.mark.parametrize(
        "line", [" Failed status 12: wr_id 0 syndrom 0x81", " Failed status-transport retry counter exceeded (12): wr_id 0"]
    )
    def test_fc09_status_12_in_both_wordings(self, line: str) -> None:
        error = refused(f"{FRAME} Completion with error at client\n{line}\nscnt=128, ccnt=0\n")
        assert (error.reason, error.outcome, error.retry, error.line) == ("transport_retry_exceeded", DEAD, False, line.strip())
        assert "GID" in error.remedy

    def test_fc09_the_server_only_lost_its_client(self) -> None:
        assert refused("ethernet_read_keys: Couldn't read remote address\n").reason == "peer_gone"

    def test_fc10_glued_messages(self) -> None:
        glued = "Unable to open file descriptor for socket connection Unable to init the socket connection\n"
        error = refused("Couldn't connect to 192.0.2.10:18515\n" + glued)
        assert (error.reason, error.retry) == ("no_server", True)
        assert "192.0.2.10:18515" in error.cause
        assert refused(glued).retry

    def test_fc11_the_client_names_the_cause(self) -> None:
        error = refused("Couldn't allocate MR\nfailed to create mr\nFailed to create MR\n Couldn't create IB resources\n")
        assert (error.reason, "memlock" in error.remedy) == ("memory_registration", True)

    @pytest.mark.parametrize(
        ("number", "reason", "memlock"), [(14, "no_gpu_memory_path", False), (93, "no_dmabuf", False), (12, "memory_registration", True)]
    )
    def test_fc12_gpu_memory(self, number: int, reason: str, memlock: bool) -> None:
        text = f"initializing CUDA\nPicking device No. 0\nCouldn't allocate MR with error={number}\nfailed to create mr\n"
        error = refused(text)
        assert (error.reason, "memlock" in error.remedy) == (reason, memlock)

    def test_fc12_old_builds_print_no_number(self) -> None:
        assert refused("Couldn't allocate MR\n", "ib_write_bw --use_cuda=0").reason == "gpu_memory_registration"
        assert "memlock" not in refused("Couldn't allocate MR with error=14\n").remedy

    def test_fc13_option_order(self) -> None:
        error = refused("CUDA DMA-BUF cannot be used without CUDA\n Parser function exited with Error\n")
        assert error.reason == "dmabuf_before_cuda"
        assert refused(" Parser function exited with Error\n").cause == "bad perftest arguments"

    def test_fc15_both_directions_are_marked(self) -> None:
        text = FRAME.replace("RDMA_Write BW", "RDMA_Write Bidirectional BW")
        result = parse_perftest(
            f"{text} 65536      10000            191.20             190.90  \t\t     0.364113\n{'-' * 87}\n", "ib_write_bw -b"
        )
        assert (result["bidirectional"], statistic(result, "average_gbit_s")) == (True, 190.9)

    def test_fc16_unit_and_message_rate_disagree(self) -> None:
        error = refused(GBITS.replace("Gb", "MB") + ROW)
        assert (error.reason, error.outcome) == ("unit_mismatch", DAMAGED)
        assert "unit and message rate disagree" in str(error)

    def test_fc18_gid_bytes_are_decimal(self) -> None:
        result = parse_perftest(f"{FRAME}{ROW}{'-' * 87}\n")
        assert (result["local"][0]["gid"], result["remote"][0]["gid"]) == ("192.0.2.5", "192.0.2.8")
        infiniband = ADDRESSES.replace(
            "00:00:00:00:00:00:00:00:00:00:255:255:192:00:02:05", "254:128:00:00:00:00:00:00:00:00:00:00:00:00:00:09"
        )
        assert parse_perftest(f"{BANNER}{infiniband}{GBITS}{ROW}{'-' * 87}\n")["local"][0]["gid"] == "fe80::9"

    def test_fc19_which_row_is_meant(self) -> None:
        small = " 65536      5000             180.20             180.10  \t\t     0.343513\n"
        result = parse_perftest(GBITS + small + " 1048576    5000             389.00             388.90  \t\t     0.046360\n")
        assert statistic(result, "average_gbit_s", 1048576) == 388.9
        with pytest.raises(PerftestError, match="name one of them"):
            statistic(result, "average_gbit_s")
        with pytest.raises(PerftestError, match="8388608 bytes were not measured, only 65536, 1048576"):
            statistic(result, "average_gbit_s", 8388608)

    def test_fc73_a_decimal_comma_is_refused(self) -> None:
        error = refused(GBITS + ROW.replace(".", ","))
        assert (error.reason, "LC_ALL=C" in str(error)) == ("decimal_comma", True)


class TestTable:
    def test_further_columns(self) -> None:
        ports = "   BW Port1[Gb/sec]   MsgRate Port1[Mpps]   BW Port2[Gb/sec]   MsgRate Port2[Mpps]\n"
        row = ROW.rstrip() + "   48.75   0.092975   48.74   0.092975\n"
        assert statistic(parse_perftest(GBITS.rstrip() + ports + row), "average_gbit_s") == 97.49
        assert statistic(parse_perftest(GBITS.rstrip() + "    CPU_Util[%]\n" + ROW.rstrip() + "   12.50\n"), "average_gbit_s") == 97.49

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("", "empty"),
            ("97.49\n", "no_table"),
            (FRAME, "no_row"),
            (FRAME + ROW, "cut"),
            (FRAME + ROW + "-" * 60 + "\n", "cut"),
            (GBITS + ROW + ROW, "doubled"),
            (FRAME + ROW + "-" * 87 + "\n" + ROW, "doubled"),
            (" #bytes    #sl      #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n" + ROW, "unknown_table"),
            (GBITS + ROW.replace("97.49", "nan"), "not_a_number"),
            (GBITS + ROW.replace("97.49", "-inf"), "not_a_number"),
            (GBITS + ROW.replace("97.49", "0.00").replace("0.185950", "0.000000"), "zero"),
            (GBITS + ROW.replace("97.49", "97.4"), "cut_row"),
            (GBITS + ROW.replace("97.49", "1e+02"), "cut_row"),
            (GBITS + ROW.replace("65536", "0"), "cut_row"),
            (GBITS + " 65536      5000             97.50\n", "cut_row"),
            (BANNER + ADDRESSES.replace("255:255", "255:256") + GBITS + ROW + "-" * 87, "damaged"),
            (BANNER + ADDRESSES.replace("remote address", "remot address") + GBITS + ROW + "-" * 87, "damaged"),
            (LATENCY + " 2  1000  1.61  5.03  6.66  1.67  0.05  1.79  4.88\n", "inconsistent"),
            (LATENCY + " 2  1000  0.00  0.00  0.00  0.00  0.00  0.00  0.00\n", "zero"),
        ],
    )
    def test_refused(self, text: str, reason: str) -> None:
        assert refused(text).reason == reason

    @pytest.mark.parametrize(
        ("command", "reason"),
        [
            ("ib_write_bw -s 4096 192.0.2.8", "other_size"),
            ("/usr/bin/ib_read_bw -s 65536 192.0.2.8", "other_test"),
            ("ib_write_bw -b 192.0.2.8", "other_test"),
            ("ib_write_bw 192.0.2.5", "other_side"),
        ],
    )
    def test_the_output_of_another_command(self, command: str, reason: str) -> None:
        assert refused(f"{FRAME}{ROW}{'-' * 87}\n", command).reason == reason

    def test_a_server_s_output_under_a_client_s_command(self) -> None:
        text = "* Waiting for client to connect... *\n" + FRAME + ROW + "-" * 87 + "\n"
        assert parse_perftest(text, "ib_write_bw -s 65536")["side"] == "server"
        assert refused(text, "ib_write_bw -s 65536 192.0.2.8").reason == "other_side"

    def test_a_run_within_one_host(self) -> None:
        loop = ADDRESSES.replace("192:00:02:05", "192:00:02:08")
        assert parse_perftest(f"{BANNER}{loop}{GBITS}{ROW}{'-' * 87}\n", "ib_write_bw 192.0.2.8")["rows"]


def test_a_connection_that_breaks_off_is_no_mistake_in_the_options() -> None:
    for line in (" Failed status 9: wr_id 3 syndrom 0x0", " Failed status-remote invalid request error (9): wr_id 3 syndrom 0x0"):
        midway, at_once = (f"{FRAME} Completion with error at client\n{line}\nscnt=794, ccnt={count}\n" for count in (353, 0))
        assert (refused(midway).reason, refused(midway).outcome) == ("broke_off", DAMAGED)
        assert (refused(at_once).reason, refused(at_once).outcome) == ("remote_error", FAILED)


def test_two_sides_of_one_run() -> None:
    client, server = (expected(FIXTURES / f"4.5-0.17_rxe_ib_write_bw_q4{side}.txt")["result"] for side in ("", "_server"))
    other = expected(FIXTURES / "4.5-0.17_rxe_ib_write_bw_R_server.txt")["result"]
    assert len(client["local"]) == 4
    assert same_run(client, server)
    assert not same_run(client, other)
    assert not same_run({**client, "local": client["remote"], "remote": client["local"]}, server)
    assert not same_run({"local": [], "remote": []}, {"local": [], "remote": []})


def test_every_reason_is_used_and_described() -> None:
    assert {reason for _pattern, reason, _cuda in PATTERNS} == set(REASONS)
    assert all(outcome in (DEAD, FAILED, DAMAGED) and cause and remedy for outcome, cause, remedy in REASONS.values())
    for pattern, reason, _cuda in PATTERNS:
        assert (pattern.groups > 0) == ("{}" in REASONS[reason][1]), reason


def interleaved(text: str, other: str) -> str:
    return "\n".join(itertools.chain(*itertools.zip_longest(text.splitlines(), other.splitlines(), fillvalue="")))


TEXTS = [path for path in GOOD if "out-json" not in path.name]


class TestDamage:
    """A good output that was damaged gives an error, never a number."""

    @pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
    def test_cut_anywhere_before_the_table_ends(self, path: pathlib.Path) -> None:
        text = path.read_text()
        end = text.rstrip().rfind("-" * 87) + 87
        for position in range(0, end, 7):
            assert refused(text[:position]).reason
        for position in range(end - 160, end):
            assert refused(text[:position]).reason

    @pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
    def test_doubled_and_interleaved(self, path: pathlib.Path) -> None:
        text = path.read_text()
        assert refused(text + text).reason == "doubled"
        assert refused(interleaved(text, TEXTS[0].read_text())).reason in ("doubled", "cut", "damaged")

    @pytest.mark.parametrize("path", [path for path in TEXTS if "_bw" in path.name], ids=lambda path: path.stem)
    def test_wrong_unit_zero_and_nan(self, path: pathlib.Path) -> None:
        text = path.read_text()
        other = text.replace("Gb/sec", "MB/sec") if "Gb/sec" in text else text.replace("MB/sec", "Gb/sec")
        assert refused(other).reason == "unit_mismatch"
        average = text[text.rindex("#bytes") :].splitlines()[1].split()[3]
        for value, reasons in (
            ("0." + "0" * len(average.partition(".")[2]), ("zero",)),
            ("nan", ("not_a_number",)),
            ("9" + average, ("unit_mismatch",)),
        ):
            head, _found, tail = text.rpartition("#bytes")
            assert refused(head + _found + tail.replace(average, value)).reason in reasons

    @pytest.mark.parametrize("path", [path for path in TEXTS if expected(path).get("command")], ids=lambda path: path.stem)
    def test_ends_swapped(self, path: pathlib.Path) -> None:
        text = path.read_text()
        swapped = (
            text.replace(" local address", " REMOTE").replace(" remote address", " local address").replace(" REMOTE", " remote address")
        )
        command = expected(path)["command"]
        if "netns" in path.name:
            command = command.replace("203.0.113.12", "192.0.2.12")
        assert refused(swapped, command).reason == "other_side"

    def test_noise_gives_only_the_documented_error(self) -> None:
        seeded = random.Random(19)
        originals = [path.read_text() for path in GOOD]
        alphabet = "0123456789.,:-[]{}\"' \t\n\x1b\x00abGxü€#%"
        for _round in range(300):
            text = list(seeded.choice(originals))
            for _change in range(seeded.randrange(1, 40)):
                position = seeded.randrange(len(text))
                text[position : position + seeded.randrange(0, 9)] = "".join(seeded.choices(alphabet, k=seeded.randrange(0, 9)))
            noisy = "".join(text)
            command = seeded.choice([None, "", "ib_write_bw -s", "ib_write_bw --report_gbits -s 65536 192.0.2.12"])
            with contextlib.suppress(PerftestError):
                rows = parse_perftest(noisy, command)["rows"]
                assert min(row.get("average_gbit_s", row.get("average_us")) for row in rows) > 0
