# SPDX-License-Identifier: Apache-2.0
"""A small training loop in PyTorch, and what PyTorch itself knows of it, under the names of the fields of gpu_use; written to
FILE as JSON.

usage: gpu_training.py STEPS FILE
"""
import json
import os
import sys
import time

WIDTH = 1024
WARM_UP = 20


def main():
    steps = int(sys.argv[1])
    try:
        import torch
    except ImportError as error:
        sys.exit(f"no PyTorch here: {error}")
    if not torch.cuda.is_available():
        sys.exit("the PyTorch that is here can't use the GPU")
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.ReLU(), torch.nn.Linear(4 * WIDTH, WIDTH))
    model = model.to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs, targets = torch.randn(512, WIDTH, device="cuda"), torch.randn(512, WIDTH, device="cuda")

    def step():
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        return loss.item()  # Waits for the GPU.

    for _ in range(WARM_UP):
        step()
    begin = time.perf_counter()
    for _ in range(steps):
        step()
    seconds = time.perf_counter() - begin
    known = torch.cuda.memory_stats()
    truth = {"allocations": known["num_device_alloc"], "allocated_bytes": known["reserved_bytes.all.allocated"],
             "frees": known["num_device_free"], "waits": WARM_UP + steps}
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump({"pid": os.getpid(), "truth": truth, "held_bytes": torch.cuda.max_memory_reserved(),
                   "us_per_call": {"a step of training": seconds / steps * 1e6}, "torch": str(torch.__version__)}, file)


if __name__ == "__main__":
    main()
