# SPDX-License-Identifier: GPL-3.0-or-later
# Each target calls tools/ or a program of .venv. Whatever they write stays under .cache, Debian packages excepted.
.DEFAULT_GOAL := help
SHELL := bash

export PATH := $(CURDIR)/.venv/bin:$(PATH)
export XDG_CACHE_HOME := $(CURDIR)/.cache/xdg
export ANSIBLE_HOME := $(CURDIR)/.cache/ansible
export ANSIBLE_COLLECTIONS_PATH := $(CURDIR)/.cache
export CONTAINERS_CONF := $(CURDIR)/.cache/containers/containers.conf
export CONTAINERS_STORAGE_CONF := $(CURDIR)/.cache/containers/storage.conf

.PHONY: help setup demo test lint sanity unit package molecule lab lab-up lab-down bench soak build lock clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 12

demo: setup ## the lab, prepared and verified; a fault found, healed, verified again
	@tools/demo

test: setup ## all that proves the collection: lint sanity unit package molecule lab
	@tools/test

lint sanity unit package molecule lab: setup
	@tools/test $@

lint: ## style, types, documentation, licences
sanity: ## ansible-test sanity, no ignore file
unit: ## pytest, no host, no root
package: ## the tarball installs offline and runs
molecule: ## roles in containers: check mode, converge, again, verify
lab: ## the whole path on virtual machines

lab-up: setup ## start the lab: virtual machines with software RDMA
	@tools/packages roles/lab_image/files/controller-packages.txt && ansible-playbook playbooks/lab_up.yml -i inventories/lab

lab-down: setup ## stop it
	@ansible-playbook playbooks/lab_down.yml -i inventories/lab

bench: setup ## measured ratios: plan, judge, render; rounds in the lab
	@for bench in tests/bench/bench_*.py; do python "$$bench" || exit 1; done

soak: setup ## what takes longer: all ansible-core versions, kill points, big simulations
	@tools/test soak

build: setup ## the tarball, in .cache/build
	@ansible-galaxy collection build --force --output-path .cache/build

lock: setup ## requirements/*.txt from requirements/*.in
	@tools/lock

clean: ## take back all of it: lab, containers, caches, .venv
	@tools/clean

setup:
	@tools/setup
